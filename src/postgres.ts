/**
 * leasehold/postgres: leases with fencing numbers in your own Postgres database, without a leasehold server. It
 * accepts anything that has `query(text, values)`, such as the package `pg`.
 */
import type { Queryable } from './postgres/database.ts';
import type { LeaseWorld } from './postgres/lease-world.ts';
import {
  OperatorRuntime as GovernedRuntime,
  type OperatorRuntimeOptions,
} from './postgres/operator-runtime.ts';
import { RuntimeLease as HeldLease, type RuntimeLeaseOptions, runUnder } from './postgres/runtime-lease.ts';
import { systemClock, systemTimers } from './world/system-clock.ts';

const systemWorld: LeaseWorld = { clock: systemClock, timers: systemTimers };

/** A lease that renews itself: `await using lease = await RuntimeLease.acquire(pool, { … })`. */
export class RuntimeLease extends HeldLease {
  /** Takes the lease, or throws a `RuntimeLeaseError` when another holder has it. `world` is for tests. */
  static override acquire(
    db: Queryable,
    options: RuntimeLeaseOptions,
    world: LeaseWorld = systemWorld,
  ): Promise<RuntimeLease> {
    // biome-ignore lint/complexity/noThisInStatic: it must make one of this class.
    return super.acquire(db, options, world);
  }
}

/**
 * Runs the function under the lease and releases the lease in every case. If another holder has the lease, throws a
 * `RuntimeLeaseError` before the function runs.
 */
export function withRuntimeLease<T>(
  db: Queryable,
  options: RuntimeLeaseOptions,
  work: (lease: RuntimeLease) => Promise<T>,
  world: LeaseWorld = systemWorld,
): Promise<T> {
  return runUnder(RuntimeLease.acquire(db, options, world), work);
}

/** Runs governed commands behind gates, all inside one lease. */
export class OperatorRuntime extends GovernedRuntime {
  constructor(options: OperatorRuntimeOptions, world: LeaseWorld = systemWorld) {
    super(options, world);
  }
}

export type {
  ConnectionPool,
  PooledConnection,
  Queryable,
  Transactional,
  TransactionalDatabase,
} from './postgres/database.ts';
export {
  type OperatorRuntimeCode,
  OperatorRuntimeError,
  type RuntimeLeaseCode,
  RuntimeLeaseError,
} from './postgres/error.ts';
export { FENCE_STATES, type FenceCode, type FenceOptions, fence, presentLease } from './postgres/fence.ts';
export type { LeaseWorld } from './postgres/lease-world.ts';
export {
  MIGRATION_019,
  type Migration,
  migrate,
  type RollbackOptions,
  rollback,
} from './postgres/migration.ts';
export type { CommandCall, GovernedCommand, OperatorRuntimeOptions } from './postgres/operator-runtime.ts';
export { type ProbeReport, type ProbeTest, probe } from './postgres/probe.ts';
export type { RuntimeLeaseOptions } from './postgres/runtime-lease.ts';
export type { Clock, Timer, Timers } from './seams/clock.ts';
