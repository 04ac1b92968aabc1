/**
 * leasehold/postgres: leases with fencing numbers in your own Postgres database, without a leasehold server. It
 * accepts anything that has `query(text, values)`, such as the package `pg`.
 */
import type { TaskDefinition } from './client/define-task.ts';
import type { Duration } from './client/durations.ts';
import { refuseUnknown } from './client/unknown-options.ts';
import type { ConnectionPool, Queryable } from './postgres/database.ts';
import type { LeaseWorld } from './postgres/lease-world.ts';
import {
  OperatorRuntime as GovernedRuntime,
  type OperatorRuntimeOptions,
} from './postgres/operator-runtime.ts';
import { type EnqueueInOptions, enqueueIn as enterTask } from './postgres/outbox.ts';
import { type Relay, type RelayOptions, RunningRelay } from './postgres/relay.ts';
import type { RelayHandle } from './postgres/relay-pass.ts';
import { RuntimeLease as HeldLease, type RuntimeLeaseOptions, runUnder } from './postgres/runtime-lease.ts';
import { LeaseholdError } from './protocol/leasehold-error.ts';
import { openTelemetry } from './world/open-telemetry.ts';
import { systemClock, systemTimers } from './world/system-clock.ts';
import { systemIds } from './world/system-ids.ts';
import { thisProcess } from './world/this-process.ts';

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

/** The options of a lease; its name is a separate argument. */
export interface PostgresLeaseOptions {
  /** The holder's name. By default each call is a separate holder. */
  readonly holder?: string;
  /** How long the lease lasts without renewal: '10ms' to '30d'; default '15s'. */
  readonly ttl?: Duration;
}

/** Acquires a lease that renews itself until it is released or lost. Throws LEASE_HELD. */
export function acquire(
  db: Queryable,
  name: string,
  options: PostgresLeaseOptions = {},
): Promise<RuntimeLease> {
  refuseUnknown(options, ['holder', 'ttl'], 'a lease');
  const { holder = `${thisProcess.label}:${systemIds.token()}`, ttl } = options;
  return RuntimeLease.acquire(db, { name, holder, ...(ttl === undefined ? {} : { ttl }) });
}

/** Like `acquire`, but returns null when the lease is held by another holder. Every other failure is thrown. */
export async function tryAcquire(
  db: Queryable,
  name: string,
  options: PostgresLeaseOptions = {},
): Promise<RuntimeLease | null> {
  try {
    return await acquire(db, name, options);
  } catch (fault) {
    if (LeaseholdError.is(fault, 'LEASE_HELD')) return null;
    throw fault;
  }
}

/** Runs the function under the lease and releases the lease in every case. */
export function withLease<T>(
  db: Queryable,
  name: string,
  work: (lease: RuntimeLease) => Promise<T> | T,
): Promise<T>;
export function withLease<T>(
  db: Queryable,
  name: string,
  options: PostgresLeaseOptions,
  work: (lease: RuntimeLease) => Promise<T> | T,
): Promise<T>;
export async function withLease<T>(
  db: Queryable,
  name: string,
  ...rest:
    | [(lease: RuntimeLease) => Promise<T> | T]
    | [PostgresLeaseOptions, (lease: RuntimeLease) => Promise<T> | T]
): Promise<T> {
  const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
  if (typeof work !== 'function')
    throw new TypeError('withLease takes a database, a name, options and a function.');
  return runUnder(acquire(db, name, options), async (lease) => work(lease));
}

/**
 * Writes a task into the outbox in your transaction: it exists if and only if that commits. The id is generated here,
 * so `lh.receipt(definition, taskId)` works at once.
 */
export function enqueueIn<Input>(
  tx: Queryable,
  definition: TaskDefinition<Input, unknown, unknown, unknown>,
  input: NoInfer<Input>,
  options: EnqueueInOptions = {},
): Promise<{ readonly taskId: string }> {
  // The prefix keeps an id from looking like a command-line option.
  const world = { newId: () => `o${systemIds.token()}`, wallMs: () => systemClock.wallMs() };
  const traces = options.trace === undefined ? openTelemetry() : undefined;
  if (traces === undefined) return enterTask(tx, definition, input, options, world);
  return traces.sending({ queue: definition.name, taskId: options.taskId }, (trace) =>
    enterTask(tx, definition, input, trace === undefined ? options : { ...options, trace }, world),
  );
}

/**
 * Starts a relay, which turns each committed row of the outbox into exactly one task. Any number of relays may run; the
 * one that holds the lease is active.
 */
export function relay(pool: ConnectionPool, lh: RelayHandle, options: RelayOptions = {}): Relay {
  return new RunningRelay(pool, lh, options, { timers: systemTimers, onFault: thisProcess.onFault });
}

/** Runs governed commands behind gates, all inside one lease. */
export class OperatorRuntime extends GovernedRuntime {
  constructor(options: OperatorRuntimeOptions, world: LeaseWorld = systemWorld) {
    super(options, world);
  }
}

export type { Duration } from './client/durations.ts';
export type { Held } from './client/held.ts';
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
export type { EnqueueInOptions } from './postgres/outbox.ts';
export { MIGRATION_020, migrateOutbox, rollbackOutbox } from './postgres/outbox-migration.ts';
export {
  dropParked,
  type OutboxReport,
  type OutboxState,
  outboxReport,
  type ParkedRow,
  resendParked,
} from './postgres/outbox-rows.ts';
export { type ProbeReport, type ProbeTest, probe } from './postgres/probe.ts';
export type { Relay, RelayCounts, RelayOptions } from './postgres/relay.ts';
export type { RelayHandle } from './postgres/relay-pass.ts';
export type { RuntimeLeaseOptions } from './postgres/runtime-lease.ts';
export {
  type Effect,
  type ErrorCode,
  type ErrorDetails,
  type Failure,
  LeaseholdError,
  type Loss,
} from './protocol/leasehold-error.ts';
export type { Clock, Timer, Timers } from './seams/clock.ts';
