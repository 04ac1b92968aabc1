/**
 * The processes of this machine as Linux shows them in /proc. Where there is no /proc, or one that belongs to another
 * namespace than ours, nothing can be said of anybody, and nothing is.
 */
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { ProcessTable } from '../orchestrator/process-identity.ts';

/** Fields of /proc/PID/stat behind the name of the program, which may itself contain spaces and brackets. */
const STATE = 0;
const START_TIME = 19;

async function statOf(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Null when it cannot be read, for whatever reason the system has. */
async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault) return null;
    throw fault;
  }
}

/** Whether there is a process of that number; /proc may be made to hide those of others. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ESRCH') return false;
    return true;
  }
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
    // Dead, and only waiting for its parent to take note.
    if (stat[STATE] === 'Z' || stat[STATE] === 'X') return 'none';
    return stat[START_TIME] ?? null;
  },
};
