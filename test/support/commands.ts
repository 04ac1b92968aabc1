// One builder for each command, with defaults that are right for the simplest story: a task called 'task', a worker called
// 'worker', a name called 'name', a holder called 'holder' with the token 'token'. What a worker presents is the newest
// lease of the task, and what a writer presents is the newest lease of the name, unless the test says otherwise.
import { crc32 } from 'node:zlib';
import type {
  AcceptIntent,
  AcquireNames,
  BreakName,
  BulkTasks,
  CancelTask,
  ChangeSession,
  ChangeTask,
  CheckpointTask,
  Command,
  CompleteTask,
  CreateTask,
  DeleteObject,
  ExtendLease,
  FailTask,
  FireSchedule,
  Heartbeat,
  HeartbeatSession,
  KillTask,
  LeaseTasks,
  LimitQueue,
  PauseQueue,
  PauseSchedule,
  PresentedLease,
  ReleaseName,
  ReleaseTask,
  RemoveSchedule,
  RenewName,
  RenewSessions,
  RequeueTask,
  ResumeQueue,
  ResumeSchedule,
  SetSchedule,
  StartSession,
  StopSession,
  WipeNames,
  WriteObject,
} from '../../src/core/commands.ts';
import type { Intent } from '../../src/core/entries.ts';
import { leaseIdOfSeq, sessionIdOfSeq } from '../../src/core/ids.ts';
import { type TaskFilter, walkTasks } from '../../src/core/list-tasks.ts';
import { type Opaque, opaque } from '../../src/core/opaque.ts';
import { ORCHESTRATOR_GUARD, START_QUEUE } from '../../src/core/reserved-names.ts';
import type { State } from '../../src/core/state.ts';

/** A command that may depend on what is true when it is made. */
export type CommandBuilder<C extends Command = Command> = (state: State) => C;

export const TTL_MS = 30_000;

const utf8 = new TextEncoder();

export function opaqueOf(text: string): Opaque {
  const bytes = utf8.encode(text);
  return opaque(bytes, crc32(bytes));
}

function checksumOf(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => Math.imul(sum ^ byte, 0x0100_0193) >>> 0, 0x811c_9dc5);
}

/** Thirty-two bytes that differ everywhere between two tokens, as a real hash would. */
export function tokenHashOf(token: string): string {
  const bytes = Array.from({ length: 32 }, (_, index) => checksumOf(utf8.encode(`${index} ${token}`)) >>> 24);
  return String.fromCharCode(...bytes);
}

/** The newest lease of a task; 0 when it never had one. */
export function newestLease({ tasks }: State, taskId: string): number {
  const row = tasks.find(taskId);
  const lease = row === 0 ? 0 : tasks.lease.get(row);
  return lease === 0 ? 0 : tasks.leases.seq.get(lease);
}

/** The newest lease of a name; 0 when there is none. */
function fenceOf({ names }: State, name: string): number {
  const row = names.find(name);
  return row === 0 ? 0 : names.leaseSeq.get(row);
}

type Given<T> = Partial<Omit<T, 'type'>>;

export function createTask(
  given: Omit<Given<CreateTask>, 'payload'> & { payload?: string } = {},
): CommandBuilder<CreateTask> {
  const { payload = 'payload', taskId = 'task', ...rest } = given;
  return () => ({
    type: 'CreateTask',
    taskId,
    queue: 'default',
    priority: 0,
    delayMs: 0,
    maxFailures: 5,
    backoffMs: 1_000,
    maxBackoffMs: 300_000,
    maxAttempts: 100,
    dedupKey: null,
    groupKey: null,
    trace: null,
    payload: opaqueOf(payload),
    ...rest,
  });
}

/** With the payload that a look at the task would have found, unless the test says otherwise. */
export function requeueTask(given: Given<RequeueTask> = {}): CommandBuilder<RequeueTask> {
  const { taskId = 'task' } = given;
  return ({ tasks }) => {
    const row = tasks.find(taskId);
    const isEnded = row !== 0 && tasks.endedSeq.get(row) !== 0;
    return {
      type: 'RequeueTask',
      taskId,
      reason: null,
      delayMs: 0,
      priority: null,
      queue: null,
      newTaskId: null,
      origin: isEnded ? { createdSeq: tasks.createdSeq.get(row), payload: opaqueOf('payload') } : null,
      ...given,
    };
  };
}

export function leaseTasks(given: Given<LeaseTasks> = {}): CommandBuilder<LeaseTasks> {
  return () => ({
    type: 'LeaseTasks',
    workerId: 'worker',
    queues: ['default'],
    max: 1,
    ttlMs: TTL_MS,
    waitMs: 0,
    requestId: null,
    ...given,
  });
}

export function extendLease(given: Given<ExtendLease> = {}): CommandBuilder<ExtendLease> {
  const { taskId = 'task' } = given;
  return (state) => ({
    type: 'ExtendLease',
    taskId,
    leaseSeq: newestLease(state, taskId),
    ttlMs: TTL_MS,
    ...given,
  });
}

export interface WriteGiven {
  readonly objectId?: string;
  readonly value?: string;
  /** What is presented beside the newest lease of the object; null for no lease at all. */
  readonly lease?: Partial<PresentedLease> | null;
}

function presented(state: State, objectId: string, lease: WriteGiven['lease']): PresentedLease | null {
  if (lease === null) return null;
  return { leaseSeq: fenceOf(state, objectId), objectId: null, holderId: null, ...lease };
}

export function completeTask(
  given: Omit<Given<CompleteTask>, 'result' | 'writes'> & {
    result?: string | null;
    writes?: readonly WriteGiven[];
  } = {},
): CommandBuilder<CompleteTask> {
  const { result = null, writes = [], taskId = 'task', ...rest } = given;
  return (state) => ({
    type: 'CompleteTask',
    taskId,
    leaseSeq: newestLease(state, taskId),
    result: result === null ? null : opaqueOf(result),
    writes: writes.map(({ objectId = 'name', value = 'value', lease }) => ({
      objectId,
      value: opaqueOf(value),
      lease: presented(state, objectId, lease),
    })),
    ...rest,
  });
}

export function failTask(given: Given<FailTask> = {}): CommandBuilder<FailTask> {
  const { taskId = 'task' } = given;
  return (state) => ({
    type: 'FailTask',
    taskId,
    leaseSeq: newestLease(state, taskId),
    reason: 'it broke',
    retry: true,
    delayMs: null,
    ...given,
  });
}

export function releaseTask(given: Given<ReleaseTask> = {}): CommandBuilder<ReleaseTask> {
  const { taskId = 'task' } = given;
  return (state) => ({
    type: 'ReleaseTask',
    taskId,
    leaseSeq: newestLease(state, taskId),
    delayMs: 0,
    ...given,
  });
}

export function killTask(given: Given<KillTask> = {}): CommandBuilder<KillTask> {
  return () => ({ type: 'KillTask', taskId: 'task', reason: 'no longer wanted', ...given });
}

export function cancelTask(given: Given<CancelTask> = {}): CommandBuilder<CancelTask> {
  return () => ({ type: 'CancelTask', taskId: 'task', reason: 'no longer wanted', ...given });
}

export function checkpointTask(
  given: Omit<Given<CheckpointTask>, 'value'> & { value?: string } = {},
): CommandBuilder<CheckpointTask> {
  const { taskId = 'task', value = 'halfway', ...rest } = given;
  return (state) => ({
    type: 'CheckpointTask',
    taskId,
    leaseSeq: newestLease(state, taskId),
    value: opaqueOf(value),
    ...rest,
  });
}

export function changeTask(given: Given<ChangeTask> = {}): CommandBuilder<ChangeTask> {
  return () => ({
    type: 'ChangeTask',
    taskId: 'task',
    queue: null,
    priority: null,
    delayMs: null,
    ...given,
  });
}

/** Filters by nothing. */
export const ANY_TASK: TaskFilter = {
  queue: null,
  state: null,
  key: null,
  workerId: null,
  createdAfterMs: null,
  createdBeforeMs: null,
  reason: null,
  endedAfterMs: null,
  endedBeforeMs: null,
};

/** With every task there is: the rule finds out which of them match. */
export function bulkTasks({
  filter = {},
  ...given
}: Omit<Given<BulkTasks>, 'filter'> & { filter?: Partial<TaskFilter> } = {}): CommandBuilder<BulkTasks> {
  return (state) => ({
    type: 'BulkTasks',
    action: 'cancel',
    filter: { ...ANY_TASK, ...filter },
    tasks: [...walkTasks(state, ANY_TASK, 'oldest', null)].map((row) => ({
      taskId: state.tasks.idOf(row),
      createdSeq: state.tasks.createdSeq.get(row),
      payload: opaqueOf('payload'),
    })),
    reason: 'all of them',
    queue: null,
    priority: null,
    delayMs: null,
    dryRun: false,
    from: { afterSeq: 0, untilSeq: state.lastSeq },
    next: null,
    ...given,
  });
}

export function heartbeat(
  given: Omit<Given<Heartbeat>, 'leases'> & {
    leases?: readonly { taskId: string; leaseSeq?: number }[];
  } = {},
): CommandBuilder<Heartbeat> {
  const { leases = [{ taskId: 'task' }], ...rest } = given;
  return (state) => ({
    type: 'Heartbeat',
    workerId: 'worker',
    ttlMs: TTL_MS,
    leases: leases.map(({ taskId, leaseSeq = newestLease(state, taskId) }) => ({
      taskId,
      leaseSeq,
      leaseId: leaseIdOfSeq(leaseSeq),
    })),
    ...rest,
  });
}

/** Who asks for a name: the same token stands for the same secret. */
interface Proof {
  readonly holder?: string;
  readonly token?: string;
}

function proof({ holder = 'holder', token = 'token' }: Proof): { holder: string; tokenHash: string } {
  return { holder, tokenHash: tokenHashOf(token) };
}

export function acquireNames(
  given: Omit<Given<AcquireNames>, 'holder' | 'tokenHash' | 'metadata'> & Proof & { metadata?: string } = {},
): CommandBuilder<AcquireNames> {
  const { holder: _holder, token: _token, metadata, ...rest } = given;
  return () => ({
    type: 'AcquireNames',
    names: ['name'],
    ...proof(given),
    ttlMs: TTL_MS,
    waitMs: 0,
    metadata: metadata === undefined ? null : opaqueOf(metadata),
    isAdmin: true,
    ...rest,
  });
}

export function renewName(given: { name?: string; ttlMs?: number } & Proof = {}): CommandBuilder<RenewName> {
  const { name = 'name', ttlMs = TTL_MS } = given;
  return () => ({ type: 'RenewName', name, ...proof(given), ttlMs });
}

export function releaseName(given: { name?: string } & Proof = {}): CommandBuilder<ReleaseName> {
  const { name = 'name' } = given;
  return () => ({ type: 'ReleaseName', name, ...proof(given) });
}

export function breakName(given: Given<BreakName> = {}): CommandBuilder<BreakName> {
  return () => ({ type: 'BreakName', name: 'name', reason: 'by hand', leaseSeq: null, ...given });
}

/** The guard that entitles to wipe. */
export function acquireGuard(given: Proof = {}): CommandBuilder<AcquireNames> {
  return acquireNames({ names: [ORCHESTRATOR_GUARD], ...given });
}

export function wipeNames(
  given: { prefix?: string; guard?: string } & Proof = {},
): CommandBuilder<WipeNames> {
  const { prefix = '', guard = ORCHESTRATOR_GUARD } = given;
  return () => ({ type: 'WipeNames', prefix, guard: { name: guard, ...proof(given) } });
}

export function writeObject(given: WriteGiven & { ifVersion?: number } = {}): CommandBuilder<WriteObject> {
  const { objectId = 'name', value = 'value', ifVersion = null, lease } = given;
  return (state) => ({
    type: 'WriteObject',
    objectId,
    value: opaqueOf(value),
    lease: presented(state, objectId, lease),
    ifVersion,
  });
}

export function deleteObject(
  given: Omit<WriteGiven, 'value'> & { ifVersion?: number } = {},
): CommandBuilder<DeleteObject> {
  const { objectId = 'name', ifVersion = null, lease } = given;
  return (state) => ({ type: 'DeleteObject', objectId, lease: presented(state, objectId, lease), ifVersion });
}

// Sessions: by default the newest one, by the holder of the guard, 'holder' with 'token'.

export function newestSession({ sessions }: State): string {
  return sessionIdOfSeq(Math.max(0, ...sessions.open.keys(), ...sessions.ended.keys()));
}

export function acceptIntent(
  given: Partial<Intent> & Partial<Pick<AcceptIntent, 'key' | 'previousKey' | 'serviceLease'>> = {},
): CommandBuilder<AcceptIntent> {
  const { key, previousKey = null, serviceLease = null, ...rest } = given;
  const intent: Intent = { type: 'live', target: 'service', profileId: 'profile', startMs: 0, ...rest };
  return () => ({
    type: 'AcceptIntent',
    intent,
    key: key ?? `key of ${Object.values(intent).join('|')}`,
    previousKey,
    payload: opaqueOf(JSON.stringify(intent)),
    serviceLease,
  });
}

type Guarded<T> = Partial<Omit<T, 'type' | 'guard' | 'tokenHash'>> & Proof & { startToken?: string };

function guardOf(given: Proof): { name: string; holder: string; tokenHash: string } {
  return { name: ORCHESTRATOR_GUARD, ...proof(given) };
}

export function leaseStarts(
  given: Partial<Omit<LeaseTasks, 'type' | 'guard'>> & Proof = {},
): CommandBuilder<LeaseTasks> {
  const { holder: _holder, token: _token, ...rest } = given;
  return leaseTasks({ queues: [START_QUEUE], guard: guardOf(given), ...rest });
}

export function startSession(given: Guarded<StartSession> = {}): CommandBuilder<StartSession> {
  const { holder: _holder, token: _token, startToken, ...rest } = given;
  return (state) => {
    const sessionId = given.sessionId ?? newestSession(state);
    return {
      type: 'StartSession',
      sessionId,
      guard: guardOf(given),
      taskLeaseSeq: newestLease(state, sessionId),
      slots: ['0', '1'],
      tokenHash: tokenHashOf(startToken ?? `token of ${sessionId}`),
      ttlMs: TTL_MS,
      isPatient: false,
      ...rest,
    };
  };
}

export function changeSession(given: Guarded<ChangeSession> = {}): CommandBuilder<ChangeSession> {
  const { holder: _holder, token: _token, ...rest } = given;
  return (state) => ({
    type: 'ChangeSession',
    sessionId: newestSession(state),
    guard: guardOf(given),
    event: 'ready',
    detail: null,
    ...rest,
  });
}

export function renewSessions(given: Guarded<RenewSessions> = {}): CommandBuilder<RenewSessions> {
  const { holder: _holder, token: _token, ...rest } = given;
  return (state) => ({
    type: 'RenewSessions',
    guard: guardOf(given),
    sessionIds: [newestSession(state)],
    ttlMs: TTL_MS,
    ...rest,
  });
}

export function stopSession(sessionId?: string): CommandBuilder<StopSession> {
  return (state) => ({ type: 'StopSession', sessionId: sessionId ?? newestSession(state) });
}

export function heartbeatSession(sessionId?: string): CommandBuilder<HeartbeatSession> {
  return (state) => ({ type: 'HeartbeatSession', sessionId: sessionId ?? newestSession(state) });
}

export function pauseQueue(queue = 'default'): CommandBuilder<PauseQueue> {
  return () => ({ type: 'PauseQueue', queue });
}

export function resumeQueue(queue = 'default'): CommandBuilder<ResumeQueue> {
  return () => ({ type: 'ResumeQueue', queue });
}

/** Every second, unless the test says otherwise. */
export function setSchedule(
  given: Omit<Given<SetSchedule>, 'payload'> & { payload?: string } = {},
): CommandBuilder<SetSchedule> {
  const { payload = 'payload', ...rest } = given;
  return () => ({
    type: 'SetSchedule',
    name: 'schedule',
    cron: null,
    everyMs: rest.cron === undefined ? 1_000 : null,
    timezone: 'UTC',
    queue: 'default',
    payload: opaqueOf(payload),
    priority: 0,
    maxFailures: 5,
    backoffMs: 1_000,
    maxBackoffMs: 300_000,
    maxAttempts: 100,
    groupKey: null,
    overlap: 'allow',
    catchUp: 'one',
    jitterMs: 0,
    startsAtMs: null,
    endsAtMs: null,
    paused: false,
    applied: false,
    ...rest,
  });
}

export function pauseSchedule(name = 'schedule'): CommandBuilder<PauseSchedule> {
  return () => ({ type: 'PauseSchedule', name });
}

export function resumeSchedule(name = 'schedule'): CommandBuilder<ResumeSchedule> {
  return () => ({ type: 'ResumeSchedule', name });
}

export function removeSchedule(name = 'schedule'): CommandBuilder<RemoveSchedule> {
  return () => ({ type: 'RemoveSchedule', name });
}

export function fireSchedule(given: Given<FireSchedule> = {}): CommandBuilder<FireSchedule> {
  return () => ({ type: 'FireSchedule', name: 'schedule', requestId: null, ...given });
}

export function limitQueue(
  limits: LimitQueue['limits'],
  queue = 'default',
  applies = false,
): CommandBuilder<LimitQueue> {
  return () => ({ type: 'LimitQueue', queue, limits, applies });
}
