/**
 * Identifies the process that holds the guard, precisely enough to tell whether it is dead: by boot id, PID
 * namespace, PID and start time. If any of these cannot be compared, the process may be alive.
 */
import type { ProcessIdentity, ProcessTable } from '../seams/process-table.ts';

/** Whether the process of this metadata is provably dead. */
export async function isProvablyDead(
  metadata: unknown,
  self: ProcessIdentity | null,
  table: ProcessTable,
): Promise<boolean> {
  const { boot_id, pid_ns, pid, start_time } = Object(metadata) as Partial<Record<string, unknown>>;
  if (self === null || typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return false;
  if (typeof start_time !== 'string' || start_time === '') return false;
  if (boot_id !== self.boot_id || pid_ns !== self.pid_ns) return false;
  const found = await table.startTimeOf(pid);
  return found !== null && found !== start_time;
}
