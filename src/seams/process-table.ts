/**
 * The processes of this machine, with enough detail to tell whether one of them is dead. `src/world` asks the kernel.
 */
export interface ProcessIdentity {
  readonly boot_id: string;
  readonly pid_ns: string;
  readonly pid: number;
  /** In clock ticks since boot, as the kernel counts them. */
  readonly start_time: string;
  readonly hostname: string;
}

/** A process that is alive. A zombie is not. */
export interface LivingProcess {
  readonly pid: number;
  readonly startTime: string;
  /** Its process group id. */
  readonly group: number;
  /** Its environment has all the requested variables. */
  readonly isMarked: boolean;
}

export interface ProcessTable {
  readonly hostname: string;
  readonly pid: number;
  /** Null where the system does not tell reliably. Then no process is ever considered dead. */
  self(): Promise<ProcessIdentity | null>;
  /** When the process with this id started; 'none' when it does not exist or is dead, null when unknown. */
  startTimeOf(pid: number): Promise<string | 'none' | null>;
  /** Every process outside our own group; null where the system does not tell. Those of other users are unmarked. */
  living(mark: Readonly<Record<string, string>>): Promise<readonly LivingProcess[] | null>;
  /** SIGKILL to the group of a process, unless that process has ended and its id may have been reused. */
  killGroupOf(found: LivingProcess): void;
}
