/** Everything there is in one run of several servers on a database. */
import type { Plan } from '../plan.ts';
import type { Kernel } from '../world/kernel.ts';
import type { Recorder } from '../world/recorder.ts';
import type { SimDatabase } from './sim-database.ts';

export interface FleetWorld {
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly recorder: Recorder;
  readonly database: SimDatabase;
  readonly guardTtlMs: number;
  /** Positions that are in the history already. */
  readonly shown: Set<number>;
}
