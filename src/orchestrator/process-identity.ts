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

/** A process that is alive; one that is dead and waits to be collected is not. */
export interface LivingProcess {
  readonly pid: number;
  readonly startTime: string;
  /** The number of its process group. */
  readonly group: number;
  /** Its environment has every variable that was asked for. */
  readonly isMarked: boolean;
}

/** A seam; `src/world` asks the kernel. */
export interface ProcessTable {
  readonly hostname: string;
  readonly pid: number;
  /** Null where the system does not tell, or not reliably: then nobody is ever taken for dead. */
  self(): Promise<ProcessIdentity | null>;
  /** When the process with that number began; 'none' when there is none or it is dead, null when nobody can say. */
  startTimeOf(pid: number): Promise<string | 'none' | null>;
  /** Every process but those of our own group; null where the system does not tell. Those of other users are unmarked. */
  living(mark: Readonly<Record<string, string>>): Promise<readonly LivingProcess[] | null>;
  /** SIGKILL to the group of a process, unless that has ended since it was found and its number may be another's. */
  killGroupOf(found: LivingProcess): void;
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
