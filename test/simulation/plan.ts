/**
 * What a run will be: every node, workload and fault as plain data, made from one seed. The world draws everything else
 * (delays, which sector is torn) from the same seed, in streams of their own, so that a plan with fewer faults is still
 * a plan: faults can be taken away one by one to find the few that matter.
 */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Clocks, disk, network, processes. What each one does is written beside its code in `world/`. */
export const FAULTS = [
  'clock.jump',
  'clock.drift',
  'clock.suspend',
  'disk.torn',
  'disk.misdirect',
  'disk.flip',
  'disk.truncate',
  'disk.stale',
  'disk.eio',
  'disk.full',
  'disk.sync',
  'disk.slow',
  'disk.restore',
  'net.delay',
  'net.loss',
  'net.duplicate',
  'net.reorder',
  'net.reset',
  'net.partition',
  'net.half-open',
  'net.storm',
  'process.kill',
  'process.kill-at',
  'process.power',
  'process.pause',
  'process.block',
  'process.crash-loop',
  'process.rival',
  'process.depose',
  'process.keeper',
] as const;

export type FaultKind = (typeof FAULTS)[number];

export interface PlannedFault {
  readonly atMs: number;
  readonly fault: FaultKind;
  /**
   * A node: `authority`, or a client (`c1`, `c2`, …); `*` for all clients. Of several servers: `database`, a server (`s1`, …), or
   * `leader` for the one that leads then.
   */
  readonly target: string;
  /** How long it lasts, for those that last. */
  readonly forMs: number;
  /** What the kind needs beside it: `byMs`, `ppm`, `chance`, `direction`, `point`, … */
  readonly args: { readonly [key: string]: number | string };
}

export const WORKLOADS = [
  'tasks',
  'worker-loop',
  'waiters',
  'fenced-writers',
  'all-or-none',
  'guards-and-wipes',
  'mass-expiry',
  'admin-breaks',
  'crowd',
  'retries',
  'hostile',
  'followers',
  'sessions',
  'session-followers',
  'operators',
  'bulk-operators',
  'limited',
  'hand-overs',
  'scheduled',
] as const;

export type WorkloadName = (typeof WORKLOADS)[number];

export interface PlannedWorkload {
  readonly name: WorkloadName;
  /** How many clients take part, and how much each of them does. */
  readonly clients: number;
  readonly rounds: number;
  /** How many of the clients, the first ones, are orchestrators. The first two share a machine when there are three. */
  readonly orchestrators?: number;
  /** How many wait at once in a crowd. */
  readonly waiters?: number;
}

/** Several servers on one database. */
export interface Fleet {
  readonly servers: number;
  readonly guardTtlMs: number;
  /** Clients that hold leases, and how much each of them does. */
  readonly holders: number;
  readonly rounds: number;
}

export interface Plan {
  readonly seed: number;
  /**
   * `file` runs the file engine on a simulated disk; `memory` the memory engine, where a newer writer deposes an older one;
   * `postgres` several servers on a simulated database, with clients of their own; its only workload is `scheduled`.
   */
  readonly engine: 'file' | 'memory' | 'postgres';
  /** For `postgres` alone. */
  readonly fleet?: Fleet;
  /** Faults end here; the run goes on until everything is served, or `graceMs` is over. */
  readonly durationMs: number;
  readonly graceMs: number;
  readonly segmentBytes: number;
  /** How much must be sealed before the log is compacted. */
  readonly compactionBytes: number;
  /** How long ended tasks and idle names are remembered. */
  readonly forgetMs: number;
  /** The wall clocks of the nodes are apart by up to this much from the start. */
  readonly skewMs: number;
  /** What comes on a stream comes in pieces that are cut anywhere. */
  readonly cutsStreams: boolean;
  /** Clients use live connections, as they do by default; else HTTP alone. */
  readonly isLive?: boolean;
  readonly workloads: readonly PlannedWorkload[];
  readonly faults: readonly PlannedFault[];
}
