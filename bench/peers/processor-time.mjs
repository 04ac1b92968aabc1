/** Processor time and memory of the client (this process) and of the server's processes, as /proc tells them. */
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in ticks of 10 ms, whatever the kernel was built with. */
const TICK_US = 10_000;

/** Starts counting; `stop(operations)` gives the seconds passed and the microseconds of each side per operation. */
export function startMeter(pids) {
  const client = process.cpuUsage();
  const server = serverTicks(pids);
  const fromMs = performance.now();
  return {
    stop(operations) {
      const seconds = (performance.now() - fromMs) / 1_000;
      const { user, system } = process.cpuUsage(client);
      return {
        seconds,
        perSecond: operations / seconds,
        clientUs: (user + system) / operations,
        serverUs: pids.length === 0 ? null : ((serverTicks(pids) - server) * TICK_US) / operations,
      };
    },
  };
}

/** Resident bytes of the processes; null where the system does not tell. */
export function residentBytes(pids) {
  let bytes = 0;
  for (const pid of pids) {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readOr(`/proc/${pid}/status`, ''));
    if (found === null) return null;
    bytes += Number(found[1]) * 1_024;
  }
  return bytes;
}

/** Ticks of the processes and everything below them, also of children that have ended. */
function serverTicks(pids) {
  if (pids.length === 0) return 0;
  const processes = new Map();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const text = readOr(`/proc/${entry}/stat`, '');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [parent, ...times] = [fields[1], ...fields.slice(11, 15)].map(Number);
    if (times.length === 4) processes.set(Number(entry), { parent, ticks: times.reduce((a, b) => a + b) });
  }
  const isBelow = (pid) => pids.includes(pid) || (processes.has(pid) && isBelow(processes.get(pid).parent));
  let ticks = 0;
  for (const [pid, own] of processes) if (isBelow(pid)) ticks += own.ticks;
  return ticks;
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}
