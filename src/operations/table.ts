/**
 * Every operation, in the order in which they are documented. Types of requests and replies, routes, checks, batches,
 * OpenAPI, docs and the client follow from this table.
 */
import type { Static } from '@sinclair/typebox';
import type { CallOptions } from '../authority/request.ts';
import type { Command } from '../core/commands.ts';
import type { Refusal } from '../core/refusals.ts';
import type { ChangeContext, LeaderContext, StateSource } from './contexts.ts';
import { leaseHistory, taskHistory } from './histories.ts';
import { acceptIntent } from './intents.ts';
import { acquireAll, acquireLease } from './lease-acquire.ts';
import { askLease } from './lease-ask.ts';
import { breakLease, releaseLease, renewLease, wipeLeases } from './lease-changes.ts';
import { getLease, listAllLeases } from './lease-reads.ts';
import { listWaiters } from './lease-waiters.ts';
import { listAllObjects } from './object-list.ts';
import { deleteObject, getObject, listReceipts, writeObject } from './objects.ts';
import type { Change, ExtraScope, Read } from './operation.ts';
import { getOverview, getQueueFigures } from './overview.ts';
import { limitQueue } from './queue-limits.ts';
import { listAllQueues, pauseQueue, resumeQueue } from './queues.ts';
import { putSchedule } from './schedule-put.ts';
import {
  deleteSchedule,
  fireSchedule,
  getSchedule,
  listAllSchedules,
  pauseSchedule,
  resumeSchedule,
} from './schedules.ts';
import { changeSession, renewSessions, startSession } from './session-runs.ts';
import { getSession, heartbeatSession, listAllSessions, stopSession } from './sessions.ts';
import { getStatus } from './status.ts';
import { bulkTasks } from './task-bulk.ts';
import { checkpointTask } from './task-checkpoint.ts';
import { createTask } from './task-create.ts';
import { extendLease, heartbeat } from './task-extend.ts';
import { leaseTasks } from './task-lease.ts';
import { listAllTasks } from './task-list.ts';
import { cancelTask, changeTask } from './task-operate.ts';
import { getTask } from './task-reads.ts';
import { requeueTask } from './task-requeue.ts';
import { completeTask, failTask, killTask, releaseTask } from './task-verdicts.ts';
import { whyTask } from './task-why.ts';
import { whoami } from './whoami.ts';
import { listWorkers } from './workers.ts';

const DEFINITIONS = [
  createTask,
  leaseTasks,
  extendLease,
  checkpointTask,
  completeTask,
  failTask,
  releaseTask,
  cancelTask,
  changeTask,
  killTask,
  requeueTask,
  bulkTasks,
  getTask,
  listAllTasks,
  taskHistory,
  whyTask,
  heartbeat,
  listWorkers,
  listAllQueues,
  limitQueue,
  pauseQueue,
  resumeQueue,
  getQueueFigures,
  putSchedule,
  getSchedule,
  listAllSchedules,
  deleteSchedule,
  pauseSchedule,
  resumeSchedule,
  fireSchedule,
  acquireLease,
  acquireAll,
  renewLease,
  releaseLease,
  breakLease,
  wipeLeases,
  getLease,
  listAllLeases,
  listWaiters,
  askLease,
  leaseHistory,
  writeObject,
  getObject,
  listAllObjects,
  deleteObject,
  listReceipts,
  getStatus,
  getOverview,
  whoami,
  acceptIntent,
  getSession,
  listAllSessions,
  heartbeatSession,
  stopSession,
  startSession,
  changeSession,
  renewSessions,
] as const;

type Definitions = (typeof DEFINITIONS)[number];

export type Operation = Definitions['name'];

type Table = { readonly [Op in Operation]: Extract<Definitions, { readonly name: Op }> };

export const OPERATIONS = Object.fromEntries(
  DEFINITIONS.map((definition) => [definition.name, definition]),
) as unknown as Table;

export const OPERATION_NAMES: readonly Operation[] = DEFINITIONS.map(({ name }) => name);

type NamesWith<Trait> = { [Op in Operation]: Table[Op] extends Trait ? Op : never }[Operation];

export type BatchOperation = NamesWith<{ readonly batch?: true; readonly command: unknown }>;
export type ReadOperation = NamesWith<{ readonly look: unknown }>;
export type ChangeOperation = Exclude<Operation, ReadOperation>;

export type Requests = { [Op in Operation]: Static<Table[Op]['request']> };
/** The bodies on the wire. */
export type Replies = { [Op in Operation]: Static<Table[Op]['reply']> };
/** A reply as the caller sees it. */
export type Body<Op extends Operation> = { readonly ok: true } & Readonly<Replies[Op]>;
/** The refusals of an operation, besides those of every operation. */
export type RefusalsOf<Op extends Operation> = Table[Op]['refusals'][number];

/** A definition without the types that tie its parts together, for code that treats all operations alike. */
export type AnyOperation = AnyChange | AnyRead;

export interface AnyChange
  extends Omit<Change, 'name' | 'batch' | 'extraScope' | 'prepare' | 'command' | 'body'> {
  readonly name: ChangeOperation;
  readonly batch?: true;
  readonly extraScope?: (request: unknown) => ExtraScope | null;
  readonly prepare?: (request: unknown, source: StateSource) => Promise<unknown>;
  readonly command: (
    request: unknown,
    token: string,
    context: ChangeContext,
    isAdmin: boolean,
    prepared: unknown,
  ) => Command | Refusal;
  readonly body: (answer: unknown, shown: string, context: ChangeContext) => object;
}

export interface AnyRead extends Omit<Read, 'name' | 'onStandby' | 'look'> {
  readonly name: ReadOperation;
  readonly batch?: never;
  readonly grants?: never;
  readonly renews?: never;
  readonly extraScope?: never;
  readonly onStandby: boolean;
  readonly look: (
    request: unknown,
    context: LeaderContext,
    options: CallOptions,
  ) => Promise<object | Refusal>;
}

export function operationOf(name: Operation): AnyOperation {
  return OPERATIONS[name] as unknown as AnyOperation;
}

export const CHANGES: readonly AnyChange[] = all().filter((each) => 'command' in each);
export const READS: readonly AnyRead[] = all().filter((each) => 'look' in each);

function all(): readonly AnyOperation[] {
  return DEFINITIONS as unknown as readonly AnyOperation[];
}

export function isOperation(name: string): name is Operation {
  return Object.hasOwn(OPERATIONS, name);
}
