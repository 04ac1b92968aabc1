// A task as a caller sees it: its state, its attempt, its one live lease, and how each earlier one ended. The answer
// to a late verdict depends on that end alone.
import { crc32 } from 'node:zlib';
import { leaseIdOfSeq, seqOfLeaseId } from '../../../src/core/ids.ts';
import type { Call, Fact } from './reading.ts';
import { list, millis, type record, text, whole } from './reading.ts';
import type { SubjectModel } from './subjects.ts';

type End = 'complete' | 'fail' | 'release' | 'other';

export interface TaskModelState {
  readonly state: 'UNKNOWN' | 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD';
  readonly attempt: number;
  /** Its cancellation was asked for while it was leased. */
  readonly isCancelled: boolean;
  /** Length and checksum of the last checkpoint, as JSON; null when there is none. */
  readonly checkpoint: string | null;
  readonly live: { readonly seq: number; readonly expiresAtMs: number } | null;
  /** The leases that are over, by number. */
  readonly ends: ReadonlyMap<number, { readonly how: End; readonly isCancelled: boolean }>;
  readonly seq: number;
  readonly nowMs: number;
}

const UNKNOWN: TaskModelState = {
  state: 'UNKNOWN',
  attempt: 0,
  isCancelled: false,
  checkpoint: null,
  live: null,
  ends: new Map(),
  seq: 0,
  nowMs: 0,
};

const VERBS: Readonly<Record<string, End>> = {
  'task.complete': 'complete',
  'task.fail': 'fail',
  'task.release': 'release',
};

export const TASK_MODEL: SubjectModel<TaskModelState> = {
  initial: UNKNOWN,
  key: ({ seq }) => String(seq),

  subjectsOfEntry({ entry }, known) {
    if (entry.type === 'EpochStarted') return entry.restored === true ? [...known] : [];
    if (entry.type === 'Forgotten') return Array.isArray(entry.task_ids) ? entry.task_ids.map(text) : [];
    // A due time that was skipped has none.
    return typeof entry.task_id === 'string' ? [entry.task_id] : [];
  },

  subjectsOfCall({ call, answer }) {
    const body = answer?.body ?? {};
    if (call.op === 'task.create') return body.task_id === undefined ? [] : [text(body.task_id)];
    if (call.op === 'task.lease') return list(body.leases).map(({ task_id: id }) => text(id));
    if (call.op === 'worker.heartbeat')
      return [...new Set(list(call.request.leases).map((lease) => text(lease.task_id)))];
    const isOne = call.op.startsWith('task.') && call.op !== 'task.list' && call.op !== 'task.bulk';
    return isOne ? [text(call.request.task_id)] : [];
  },

  apply(state, fact) {
    const { entry, seq, atMs } = fact;
    if (seq <= state.seq || atMs < state.nowMs) return null;
    const after = { ...state, seq, nowMs: atMs };
    const lease = seqOfLeaseId(text(entry.lease_id));
    const isHolder = state.live !== null && state.live.seq === lease && atMs < state.live.expiresAtMs;
    switch (entry.type) {
      case 'TaskCreated':
      case 'IntentAccepted':
      case 'ScheduleFired':
        return state.state === 'UNKNOWN' ? { ...UNKNOWN, state: 'WAITING', seq, nowMs: atMs } : null;
      case 'LeaseGranted': {
        if (state.isCancelled) return null;
        if (state.state !== 'WAITING' || entry.attempt !== state.attempt + 1) return null;
        const live = { seq, expiresAtMs: millis(entry.expiry_timestamp) };
        return { ...after, state: 'LEASED', attempt: state.attempt + 1, live };
      }
      case 'LeaseExtended': {
        const expiresAtMs = millis(entry.new_expiry_timestamp);
        if (!isHolder || expiresAtMs <= state.live!.expiresAtMs) return null;
        return { ...after, live: { seq: lease, expiresAtMs } };
      }
      case 'LeaseExpired':
        return state.live?.seq === lease && state.live.expiresAtMs <= atMs
          ? ended(after, 'WAITING', 'other')
          : null;
      case 'TaskCompleted':
        return isHolder ? { ...ended(after, 'COMPLETED', 'complete'), checkpoint: null } : null;
      case 'TaskCancelRequested':
        return isHolder && !state.isCancelled ? { ...after, isCancelled: true } : null;
      case 'TaskCheckpointed':
        return isHolder ? { ...after, checkpoint: JSON.stringify(entry.value) } : null;
      case 'TaskChanged':
        return state.state === 'WAITING' ? after : null;
      case 'TaskFailed':
        return isHolder ? ended(after, entry.next_state === 'FAILED' ? 'FAILED' : 'WAITING', 'fail') : null;
      case 'TaskReleased':
        return isHolder ? ended(after, 'WAITING', 'release') : null;
      case 'TaskDead':
        return state.state === 'WAITING' || state.state === 'LEASED' ? ended(after, 'DEAD', 'other') : null;
      case 'TaskCancelled': {
        const known = state.ends.get(lease);
        if (known === undefined || known.how !== 'other' || known.isCancelled) return null;
        return { ...after, ends: new Map(state.ends).set(lease, { how: 'other', isCancelled: true }) };
      }
      case 'EpochStarted':
        if (state.live === null) return after;
        return ended(after, state.isCancelled ? 'DEAD' : 'WAITING', 'other');
      case 'Forgotten':
        return state.state === 'WAITING' || state.state === 'LEASED'
          ? null
          : { ...UNKNOWN, seq, nowMs: atMs };
      default:
        return null;
    }
  },

  justifies(state, { call, answer }, fact) {
    const body = answer!.body;
    const { request } = call;
    switch (call.op) {
      case 'task.lease': {
        const lease = list(body.leases).find(({ lease_seq: seq }) => seq === fact.seq);
        const expiresAtMs = fact.atMs + (whole(request.ttl_ms) || 30_000);
        const isWorker = fact.entry.worker_id === request.worker_id;
        return isWorker && millis(lease?.expires_at) === expiresAtMs && lease?.attempt === fact.entry.attempt;
      }
      case 'task.extend':
        return leaseIdOfSeq(state.live?.seq ?? 0) === request.lease_id && grows(state, request, fact);
      case 'worker.heartbeat':
        return list(request.leases).some((lease) => lease.lease_id === leaseIdOfSeq(state.live?.seq ?? 0));
      case 'task.complete':
      case 'task.fail':
      case 'task.release':
        return fact.entry.lease_id === request.lease_id;
      default:
        return true;
    }
  },

  needs: () => 0,

  allows(state, call, id) {
    return call.answer!.status < 300 ? isShown(state, call, id) : isRefused(state, call);
  },
};

function ended(state: TaskModelState, to: TaskModelState['state'], how: End): TaskModelState {
  if (state.live === null) return { ...state, state: to };
  const ends = new Map(state.ends).set(state.live.seq, { how, isCancelled: false });
  return { ...state, state: to, live: null, ends };
}

function hasEnded({ state }: TaskModelState): boolean {
  return state === 'COMPLETED' || state === 'FAILED' || state === 'DEAD';
}

function grows({ live }: TaskModelState, request: ReturnType<typeof record>, { atMs, entry }: Fact): boolean {
  const expiresAtMs = Math.max(live!.expiresAtMs, atMs + whole(request.ttl_ms));
  return millis(entry.new_expiry_timestamp) === expiresAtMs;
}

function isLive({ live, nowMs }: TaskModelState, lease: ReturnType<typeof record>): boolean {
  const expiresAtMs = millis(lease.expires_at);
  const atMs = expiresAtMs - whole(lease.remaining_ms);
  const isSame = live !== null && live.seq === lease.lease_seq && live.expiresAtMs === expiresAtMs;
  return isSame && nowMs <= atMs && atMs < expiresAtMs;
}

function isShown(state: TaskModelState, { call, answer }: Call, id: string): boolean {
  const { ends } = state;
  const body = answer!.body;
  const end = ends.get(seqOfLeaseId(text(call.request.lease_id)));
  switch (call.op) {
    case 'task.create':
      return body.state === state.state && body.attempt === state.attempt;
    case 'task.lease':
      return list(body.leases).every(
        (lease) => lease.task_id !== id || (isLive(state, lease) && isSaved(state, lease)),
      );
    case 'task.extend':
      return isLive(state, body) && (body.cancel_requested === true) === state.isCancelled;
    case 'task.cancel':
      if (body.state === 'LEASED') return state.state === 'LEASED' && state.isCancelled;
      return state.state === 'DEAD';
    case 'task.change':
      return state.state === 'WAITING';
    case 'worker.heartbeat':
      return isBeatShown(state, call, body, id);
    case 'task.complete':
    case 'task.fail':
    case 'task.release':
      if (body.outcome === 'CANCELLED') return end?.how === 'other' && end.isCancelled;
      return end?.how === VERBS[call.op];
    case 'task.requeue':
      return hasEnded(state);
    case 'task.get':
      if ((body.cancel_requested === true) !== state.isCancelled || !isSaved(state, body)) return false;
      return body.state === state.state && body.attempt === state.attempt;
    default:
      return true;
  }
}

/** What is shown is the last checkpoint. One whose bytes the disk has damaged is left out. */
function isSaved({ checkpoint }: TaskModelState, shown: ReturnType<typeof record>): boolean {
  const value = shown.checkpoint ?? null;
  if (value === null) return true;
  const bytes = Buffer.from(JSON.stringify(value));
  return checkpoint === JSON.stringify({ bytes: bytes.length, crc: crc32(bytes) });
}

/** Each lease that was listed for the task is either extended, and live, or lost, and over or never there. */
function isBeatShown(
  state: TaskModelState,
  call: Call['call'],
  body: ReturnType<typeof record>,
  id: string,
): boolean {
  const extended = list(body.extended).filter((lease) => lease.task_id === id);
  const lost = list(body.lost).filter((lease) => lease.task_id === id);
  const listed = list(call.request.leases).filter((lease) => lease.task_id === id);
  if (extended.length + lost.length !== listed.length) return false;
  const live = state.live === null ? '' : leaseIdOfSeq(state.live.seq);
  const isTold = extended.every((lease) => (lease.cancel_requested === true) === state.isCancelled);
  return (
    isTold &&
    extended.every((lease) => isLive(state, lease)) &&
    lost.every((lease) => lease.lease_id !== live)
  );
}

function isRefused(state: TaskModelState, { call, answer }: Call): boolean {
  const { live, ends } = state;
  const lease = seqOfLeaseId(text(call.request.lease_id));
  const end = ends.get(lease);
  // One of the writes of a completion is refused only where the verdict itself would have counted.
  if (answer!.body.index !== undefined) return live?.seq === lease;
  switch (answer!.body.code) {
    case 'TASK_NOT_FOUND':
      return state.state === 'UNKNOWN';
    case 'LEASE_UNKNOWN':
      // Of its leases a task remembers the last sixteen.
      return live?.seq !== lease && (end === undefined || ends.size >= 16);
    case 'LEASE_EXPIRED':
      return live?.seq !== lease && end !== undefined;
    case 'LEASE_NOT_CURRENT':
      return live?.seq !== lease && end !== undefined && (!(call.op in VERBS) || end.how !== VERBS[call.op]);
    case 'TASK_NOT_WAITING':
      return state.state !== 'WAITING';
    case 'TASK_TERMINAL':
      return hasEnded(state);
    case 'TASK_NOT_ENDED':
      return state.state === 'WAITING' || state.state === 'LEASED';
    default:
      return true;
  }
}
