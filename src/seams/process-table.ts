/** The processes of this machine, precisely enough to tell whether one of them is dead. `src/world` asks the kernel. */
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
