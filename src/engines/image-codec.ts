/**
 * How the records of a state image lie in a checkpoint, version 1: a kind byte, flags, and the fields in the
 * order in which they are written below. What is zero for most rows is left out behind a flag, because
 * a start with a million waiting tasks is as fast as this is small. Primitives and opaques are those
 * of entries, and so is the recipe for a change (`core/entry-table.ts`).
 */
import type {
  FreeRowsImage,
  HeadImage,
  ImageRecord,
  LeaseEnd,
  LeaseImage,
  NameEnd,
  NameImage,
  QueueImage,
  TaskImage,
  TaskState,
} from '../core/image.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import {
  USUAL_BACKOFF_MS,
  USUAL_MAX_ATTEMPTS,
  USUAL_MAX_BACKOFF_MS,
  USUAL_MAX_FAILURES,
} from './entry-encoder.ts';
import { LogTooNewError } from './log.ts';
import {
  decodeKey,
  encodeKey,
  encodeOpaque,
  KEY_IS_STRING,
  known,
  type OpaqueArea,
  type OpaqueReader,
} from './record-parts.ts';
import { decodeSessionImage, encodeSessionImage, hasFirstName } from './session-codec.ts';

const HEAD = 1;
const QUEUE = 2;
const FREE_TASKS = 3;
const FREE_NAMES = 4;
const TASK = 5;
const NAME = 6;
const SESSION = 7;
const NAMED_SESSION = 8;

const TASK_STATES: readonly TaskState[] = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'];
const LEASE_ENDS: readonly LeaseEnd[] = [
  'live',
  'complete',
  'fail',
  'release',
  'expired',
  'killed',
  'restored',
];
const NAME_ENDS: readonly NameEnd[] = ['none', 'live', 'released', 'expired', 'broken', 'wiped', 'restored'];

/** Flags of a task, beside KEY_IS_STRING. */
const HAS_DEDUP_KEY = 2;
/** As in an entry: read over, and no longer written. */
const HAD_DIGEST = 4;
const USUAL_POLICY = 8;
const HAS_RESULT = 16;
const HAS_REASON = 32;
/** It has ended: `endedSeq` and `endedAtMs` follow. */
const ENDED = 64;
/** It was leased at some time: attempts, failures and leases follow. */
const TOUCHED = 128;

/** Flags of a lease inside a task. */
const HAS_REQUEST_ID = 1;
const LATE_RESULT = 2;

/** Flags of a name. */
const GRANTED = 1;
const HAS_METADATA = 2;
const HAS_OBJECT = 4;
const OVER = 8;

const FIXED_MAX = 160;

export function encodeImage(out: ByteWriter, area: OpaqueArea, record: ImageRecord): void {
  out.reserve(FIXED_MAX);
  switch (record.kind) {
    case 'task':
      encodeTask(out, area, record);
      return;
    case 'name':
      encodeName(out, area, record);
      return;
    case 'head':
      encodeHead(out, record);
      return;
    case 'queue':
      out.u8(QUEUE);
      out.u8(record.paused ? 1 : 0);
      out.string(record.queue);
      return;
    case 'free':
      out.u8(record.table === 'tasks' ? FREE_TASKS : FREE_NAMES);
      out.u32(record.rows.length);
      out.reserve(record.rows.length * 8);
      for (const row of record.rows) out.f64(row);
      return;
    case 'session':
      out.u8(hasFirstName(record) ? SESSION : NAMED_SESSION);
      encodeSessionImage(out, record);
      return;
    default:
      record satisfies never;
  }
}

function encodeHead(out: ByteWriter, head: HeadImage): void {
  out.u8(HEAD);
  out.f64(head.lastSeq);
  out.f64(head.lastAtMs);
  out.f64(head.epoch);
  out.f64(head.epochStartedAtMs);
  out.f64(head.taskRows);
  out.f64(head.nameRows);
}

function encodeTask(out: ByteWriter, area: OpaqueArea, task: TaskImage): void {
  const usual =
    task.maxFailures === USUAL_MAX_FAILURES &&
    task.backoffMs === USUAL_BACKOFF_MS &&
    task.maxBackoffMs === USUAL_MAX_BACKOFF_MS &&
    task.maxAttempts === USUAL_MAX_ATTEMPTS;
  const touched =
    task.attempt !== 0 || task.countedAttempts !== 0 || task.failures !== 0 || task.leases.length !== 0;
  const ended = task.endedSeq !== 0 || task.endedAtMs !== 0;
  out.u8(TASK);
  out.u8(
    (typeof task.task === 'string' ? KEY_IS_STRING : 0) |
      (task.dedupKey === null ? 0 : HAS_DEDUP_KEY) |
      (usual ? USUAL_POLICY : 0) |
      (task.result === null ? 0 : HAS_RESULT) |
      (task.reason === null ? 0 : HAS_REASON) |
      (ended ? ENDED : 0) |
      (touched ? TOUCHED : 0),
  );
  out.f64(task.row);
  out.f64(task.createdSeq);
  out.f64(task.createdAtMs);
  out.f64(task.lastSeq);
  out.f64(task.dueAtMs);
  out.u8(TASK_STATES.indexOf(task.state));
  out.i8(task.priority);
  encodeOpaque(out, area, task.payload);
  out.string(task.queue);
  out.reserve(FIXED_MAX);
  encodeKey(out, task.task);
  if (!usual) {
    out.f64(task.maxFailures);
    out.f64(task.backoffMs);
    out.f64(task.maxBackoffMs);
    out.f64(task.maxAttempts);
  }
  if (task.result !== null) encodeOpaque(out, area, task.result);
  if (ended) {
    out.f64(task.endedSeq);
    out.f64(task.endedAtMs);
  }
  if (task.dedupKey !== null) out.string(task.dedupKey);
  if (task.reason !== null) out.string(task.reason);
  if (!touched) return;
  out.reserve(FIXED_MAX);
  out.f64(task.attempt);
  out.f64(task.countedAttempts);
  out.f64(task.failures);
  out.u32(task.leases.length);
  for (const lease of task.leases) encodeLease(out, area, lease);
}

function encodeLease(out: ByteWriter, area: OpaqueArea, lease: LeaseImage): void {
  out.reserve(FIXED_MAX);
  out.u8((lease.requestId === null ? 0 : HAS_REQUEST_ID) | (lease.lateResult === null ? 0 : LATE_RESULT));
  out.u8(LEASE_ENDS.indexOf(lease.end));
  out.f64(lease.seq);
  out.f64(lease.expiresAtMs);
  out.f64(lease.endedSeq);
  out.f64(lease.dueAtMs);
  out.f64(lease.cancelledSeq);
  if (lease.lateResult !== null) encodeOpaque(out, area, lease.lateResult);
  out.string(lease.workerId);
  if (lease.requestId !== null) out.string(lease.requestId);
}

function encodeName(out: ByteWriter, area: OpaqueArea, name: NameImage): void {
  const granted =
    name.leaseSeq !== 0 ||
    name.holder !== '' ||
    name.tokenHash !== '' ||
    name.acquiredAtMs !== 0 ||
    name.expiresAtMs !== 0 ||
    name.pastTokens.length !== 0;
  const over = name.endedSeq !== 0 || name.endedAtMs !== 0;
  out.u8(NAME);
  out.u8(
    (granted ? GRANTED : 0) |
      (name.metadata === null ? 0 : HAS_METADATA) |
      (name.object === null ? 0 : HAS_OBJECT) |
      (over ? OVER : 0),
  );
  out.u8(NAME_ENDS.indexOf(name.end));
  out.f64(name.row);
  out.f64(name.version);
  out.f64(name.lastSeq);
  if (over) {
    out.f64(name.endedSeq);
    out.f64(name.endedAtMs);
  }
  if (name.metadata !== null) encodeOpaque(out, area, name.metadata);
  if (name.object !== null) {
    encodeOpaque(out, area, name.object.value);
    out.f64(name.object.version);
    out.f64(name.object.leaseSeq);
    out.f64(name.object.seq);
  }
  out.string(name.name);
  if (!granted) return;
  out.reserve(FIXED_MAX);
  out.f64(name.leaseSeq);
  out.f64(name.acquiredAtMs);
  out.f64(name.expiresAtMs);
  out.string(name.holder);
  out.binary(name.tokenHash);
  out.u8(name.pastTokens.length);
  for (const token of name.pastTokens) out.binary(token);
}

/** `opaques` reads from the same place as `source`. */
export function decodeImage(source: ByteReader, opaques: OpaqueReader): ImageRecord {
  const kind = source.u8();
  switch (kind) {
    case TASK:
      return decodeTask(source, opaques);
    case NAME:
      return decodeName(source, opaques);
    case HEAD:
      return decodeHead(source);
    case QUEUE:
      return decodeQueue(source);
    case FREE_TASKS:
      return decodeFree(source, 'tasks');
    case FREE_NAMES:
      return decodeFree(source, 'names');
    case SESSION:
    case NAMED_SESSION:
      return decodeSessionImage(source, kind === NAMED_SESSION);
    default:
      throw new LogTooNewError(
        `The checkpoint holds records of kind ${kind}, which this version does not know.`,
      );
  }
}

function decodeHead(source: ByteReader): HeadImage {
  return {
    kind: 'head',
    lastSeq: source.f64(),
    lastAtMs: source.f64(),
    epoch: source.f64(),
    epochStartedAtMs: source.f64(),
    taskRows: source.f64(),
    nameRows: source.f64(),
  };
}

function decodeQueue(source: ByteReader): QueueImage {
  const paused = source.u8() !== 0;
  return { kind: 'queue', queue: source.string(), paused };
}

function decodeFree(source: ByteReader, table: 'tasks' | 'names'): FreeRowsImage {
  const count = source.u32();
  const rows: number[] = [];
  for (let i = 0; i < count; i++) rows.push(source.f64());
  return { kind: 'free', table, rows };
}

const NO_LEASES: readonly LeaseImage[] = [];

function decodeTask(source: ByteReader, opaques: OpaqueReader): TaskImage {
  const flags = source.u8();
  const row = source.f64();
  const createdSeq = source.f64();
  const createdAtMs = source.f64();
  const lastSeq = source.f64();
  const dueAtMs = source.f64();
  const state = known(TASK_STATES, source.u8(), 'task state');
  const priority = source.i8();
  const payload = opaques.opaque();
  const queue = source.cachedString();
  const task = decodeKey(source, flags);
  const usual = (flags & USUAL_POLICY) !== 0;
  const maxFailures = usual ? USUAL_MAX_FAILURES : source.f64();
  const backoffMs = usual ? USUAL_BACKOFF_MS : source.f64();
  const maxBackoffMs = usual ? USUAL_MAX_BACKOFF_MS : source.f64();
  const maxAttempts = usual ? USUAL_MAX_ATTEMPTS : source.f64();
  const result = flags & HAS_RESULT ? opaques.opaque() : null;
  const endedSeq = flags & ENDED ? source.f64() : 0;
  const endedAtMs = flags & ENDED ? source.f64() : 0;
  const dedupKey = flags & HAS_DEDUP_KEY ? source.string() : null;
  if (flags & HAD_DIGEST) source.binary();
  const reason = flags & HAS_REASON ? source.string() : null;
  const touched = (flags & TOUCHED) !== 0;
  const attempt = touched ? source.f64() : 0;
  const countedAttempts = touched ? source.f64() : 0;
  const failures = touched ? source.f64() : 0;
  const leases = touched ? decodeLeases(source, opaques) : NO_LEASES;
  return {
    kind: 'task',
    row,
    task,
    createdSeq,
    createdAtMs,
    queue,
    priority,
    state,
    attempt,
    countedAttempts,
    failures,
    maxFailures,
    backoffMs,
    maxBackoffMs,
    maxAttempts,
    dedupKey,
    payload,
    dueAtMs,
    reason,
    result,
    endedSeq,
    endedAtMs,
    lastSeq,
    leases,
  };
}

function decodeLeases(source: ByteReader, opaques: OpaqueReader): LeaseImage[] {
  const count = source.u32();
  const leases: LeaseImage[] = [];
  for (let i = 0; i < count; i++) {
    const flags = source.u8();
    const end = known(LEASE_ENDS, source.u8(), 'lease end');
    const seq = source.f64();
    const expiresAtMs = source.f64();
    const endedSeq = source.f64();
    const dueAtMs = source.f64();
    const cancelledSeq = source.f64();
    const lateResult = flags & LATE_RESULT ? opaques.opaque() : null;
    const workerId = source.cachedString();
    const requestId = flags & HAS_REQUEST_ID ? source.string() : null;
    leases.push({
      seq,
      workerId,
      requestId,
      expiresAtMs,
      end,
      endedSeq,
      dueAtMs,
      cancelledSeq,
      lateResult,
    });
  }
  return leases;
}

function decodeName(source: ByteReader, opaques: OpaqueReader): NameImage {
  const flags = source.u8();
  const end = known(NAME_ENDS, source.u8(), 'end of a named lease');
  const row = source.f64();
  const version = source.f64();
  const lastSeq = source.f64();
  const endedSeq = flags & OVER ? source.f64() : 0;
  const endedAtMs = flags & OVER ? source.f64() : 0;
  const metadata = flags & HAS_METADATA ? opaques.opaque() : null;
  const object =
    flags & HAS_OBJECT
      ? { value: opaques.opaque(), version: source.f64(), leaseSeq: source.f64(), seq: source.f64() }
      : null;
  const name = source.string();
  const granted = (flags & GRANTED) !== 0;
  const leaseSeq = granted ? source.f64() : 0;
  const acquiredAtMs = granted ? source.f64() : 0;
  const expiresAtMs = granted ? source.f64() : 0;
  const holder = granted ? source.cachedString() : '';
  const tokenHash = granted ? source.binary() : '';
  const pastTokens: string[] = [];
  if (granted) {
    const count = source.u8();
    for (let i = 0; i < count; i++) pastTokens.push(source.binary());
  }
  return {
    kind: 'name',
    row,
    name,
    leaseSeq,
    end,
    holder,
    tokenHash,
    acquiredAtMs,
    expiresAtMs,
    metadata,
    endedSeq,
    endedAtMs,
    version,
    object,
    lastSeq,
    pastTokens,
  };
}
