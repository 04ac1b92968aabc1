/**
 * The processes of this machine from Linux's /proc. Without /proc, or with one of another PID namespace, every answer
 * is "unknown".
 */
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { LivingProcess, ProcessTable } from '../seams/process-table.ts';

/** Fields of /proc/PID/stat after the program name, which may contain spaces and brackets. */
const STATE = 0;
const GROUP = 2;
const THREADS = 17;
const START_TIME = 19;

function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

async function statOf(pid: number): Promise<readonly string[]> {
  return fieldsOf(await readFile(`/proc/${pid}/stat`, 'utf8'));
}

/** A zombie, which its parent has not reaped. A process whose first thread ended before the others is alive. */
function isDead(stat: readonly string[]): boolean {
  return (stat[STATE] === 'Z' || stat[STATE] === 'X') && Number(stat[THREADS]) <= 1;
}

/** Read synchronously; null when there is no such process or the system does not tell. */
function statNow(pid: number): readonly string[] | null {
  try {
    return fieldsOf(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault) return null;
    throw fault;
  }
}

/** The start time of a process that cannot have been reaped yet. */
export function startTimeNow(pid: number): string | null {
  return statNow(pid)?.[START_TIME] ?? null;
}

/** Null when it cannot be read for any reason. */
async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault) return null;
    throw fault;
  }
}

/** Whether a process with this id exists. /proc may hide those of other users. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ESRCH') return false;
    return true;
  }
}

/** Whether the process was started with these variables. Those of another user cannot be read. */
async function carries(pid: number, variables: readonly string[]): Promise<boolean> {
  const environment = await orNull(readFile(`/proc/${pid}/environ`, 'utf8'));
  const carried = new Set(environment?.split('\0'));
  return variables.every((variable) => carried.has(variable));
}

async function isOurs(): Promise<boolean> {
  return (await orNull(readlink('/proc/self'))) === String(process.pid);
}

export const nodeProcessTable: ProcessTable = {
  hostname: hostname(),
  pid: process.pid,

  async self() {
    if (!(await isOurs())) return null;
    const bootId = await orNull(readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
    const pidNs = await orNull(readlink('/proc/self/ns/pid'));
    const stat = await orNull(statOf(process.pid));
    const startTime = stat?.[START_TIME];
    if (bootId === null || pidNs === null || startTime === undefined) return null;
    return {
      boot_id: bootId.trim(),
      pid_ns: pidNs,
      pid: process.pid,
      start_time: startTime,
      hostname: hostname(),
    };
  },

  async startTimeOf(pid) {
    if (!(await isOurs())) return null;
    if (!isThere(pid)) return 'none';
    const stat = await orNull(statOf(pid));
    if (stat === null) return isThere(pid) ? null : 'none';
    return isDead(stat) ? 'none' : (stat[START_TIME] ?? null);
  },

  async living(mark) {
    if (!(await isOurs())) return null;
    const [own, names] = [await orNull(statOf(process.pid)), await orNull(readdir('/proc'))];
    if (own === null || names === null) return null;
    const variables = Object.entries(mark).map(([name, value]) => `${name}=${value}`);
    const found: LivingProcess[] = [];
    // Sequentially: a machine may have more processes than we may open files.
    for (const pid of names.filter((name) => /^[0-9]+$/.test(name)).map(Number)) {
      const stat = await orNull(statOf(pid));
      if (stat === null || isDead(stat) || stat[GROUP] === own[GROUP]) continue;
      const [startTime, group] = [stat[START_TIME]!, Number(stat[GROUP])];
      found.push({ pid, startTime, group, isMarked: await carries(pid, variables) });
    }
    return found;
  },

  killGroupOf({ pid, startTime, group }) {
    const stat = statNow(pid);
    if (stat?.[START_TIME] !== startTime || Number(stat[GROUP]) !== group) return;
    try {
      // Groups 0 and 1 are not its own: they mean our group, or every process.
      process.kill(group > 1 ? -group : pid, 'SIGKILL');
    } catch (fault) {
      if (!(fault instanceof Error && 'code' in fault)) throw fault;
      // It has ended, or belongs to another user. The next look finds it again and reports it.
      if (fault.code !== 'ESRCH' && fault.code !== 'EPERM') throw fault;
    }
  },
};
