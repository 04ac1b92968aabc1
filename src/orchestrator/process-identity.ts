/**
 * Who holds the guard, precisely enough to tell whether that process is dead: a process is known by its machine since
 * it was started (boot id), the namespace its number belongs to, its number, and when it began. A guard of which
 * anything of this cannot be compared belongs to a process that may be alive.
 */
export interface ProcessIdentity {
  readonly boot_id: string;
  readonly pid_ns: string;
  readonly pid: number;
  /** In ticks since the machine was started, as the kernel counts them. */
  readonly start_time: string;
  readonly hostname: string;
}

/** A seam; `src/world` asks the kernel. */
export interface ProcessTable {
  readonly hostname: string;
  readonly pid: number;
  /** Null where the system does not tell, or not reliably: then nobody is ever taken for dead. */
  self(): Promise<ProcessIdentity | null>;
  /** When the process with that number began; 'none' when there is none or it is dead, null when nobody can say. */
  startTimeOf(pid: number): Promise<string | 'none' | null>;
}

/** Whether the process of this metadata is dead beyond doubt. */
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
