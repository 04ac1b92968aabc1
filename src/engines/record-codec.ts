/**
 * How an entry lies on disk, version 1. A record is a type byte, a byte of flags where the type has
 * optional parts, and the fields in the order in which they are written below (primitives:
 * `byte-writer.ts`). An opaque is u32 length, u32 CRC-32 and u32 offset into the opaque area of its frame.
 *
 * To change it: logs live for ever, so a layout is never changed, not even by a flag. A new entry takes
 * the next free type byte; an old entry with a new field takes a new type byte as well, and the old
 * one stays readable. An older leasehold refuses a type it does not know, and says its number.
 */
import type {
  Entry,
  FencedWrite,
  Forgotten,
  TaskCompleted,
  TaskCreated,
  TaskKey,
  Verb,
} from '../core/entries.ts';
import type { Opaque } from '../core/opaque.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { LogTooNewError } from './log.ts';
import {
  decodeKey,
  decodeStrings,
  encodeKey,
  encodeOpaque,
  FIXED_MAX,
  KEY_IS_STRING,
  known,
  NOWHERE,
  type OpaqueArea,
  USUAL_BACKOFF_MS,
  USUAL_MAX_ATTEMPTS,
  USUAL_MAX_BACKOFF_MS,
  USUAL_MAX_FAILURES,
} from './record-parts.ts';
import {
  decodeIntentAccepted,
  decodeSessionChanged,
  encodeIntentAccepted,
  encodeSessionChanged,
  hasFirstName,
} from './session-codec.ts';

const TASK_CREATED = 1;
const LEASE_GRANTED = 2;
const LEASE_EXTENDED = 3;
const LEASE_EXPIRED = 4;
const TASK_COMPLETED = 5;
const TASK_CANCELLED = 6;
const TASK_FAILED = 7;
const TASK_RELEASED = 8;
const TASK_DEAD = 9;
const NAME_LEASED = 10;
const NAME_RENEWED = 11;
const NAME_RELEASED = 12;
const NAME_EXPIRED = 13;
const NAME_BROKEN = 14;
const NAMES_WIPED = 15;
const OBJECT_WRITTEN = 16;
const OBJECT_DELETED = 17;
const QUEUE_PAUSED = 18;
const QUEUE_RESUMED = 19;
const EPOCH_STARTED = 20;
const FORGOTTEN = 21;
const INTENT_ACCEPTED = 22;
const SESSION_CHANGED = 23;
const FORGOTTEN_WITH_SESSIONS = 24;
const NAMED_INTENT_ACCEPTED = 25;
const TASK_FAILED_DEAD = 26;

/** Flags. Those with a task have KEY_IS_STRING as well; the others belong to their record. */
const HAS_RESULT = 2;
const HAS_WRITES = 4;
const HAS_REQUEST_ID = 2;
const COUNTED = 2;
const ENDS_FAILED = 2;
const HAS_METADATA = 1;
const RESTORED = 1;
const HAS_DEDUP_KEY = 2;
/** Older logs hold a digest of the payload, which nobody asks for any more; it is read over, and no longer written. */
const HAD_DIGEST = 4;
/** The retry policy is the usual one, and its four numbers are left out. */
const USUAL_POLICY = 8;

const VERBS: readonly Verb[] = ['complete', 'fail', 'release'];

export function encodeEntry(out: ByteWriter, area: OpaqueArea, entry: Entry): void {
  out.reserve(FIXED_MAX);
  switch (entry.type) {
    case 'TaskCreated':
      encodeTaskCreated(out, area, entry);
      return;
    case 'LeaseGranted':
      head(out, LEASE_GRANTED, entry.task, entry.requestId === null ? 0 : HAS_REQUEST_ID);
      out.f64(entry.attempt);
      out.f64(entry.expiresAtMs);
      out.string(entry.workerId);
      if (entry.requestId !== null) out.string(entry.requestId);
      return;
    case 'TaskCompleted':
      encodeTaskCompleted(out, area, entry);
      return;
    case 'LeaseExtended':
      head(out, LEASE_EXTENDED, entry.task, 0);
      out.f64(entry.leaseSeq);
      out.f64(entry.expiresAtMs);
      return;
    case 'LeaseExpired':
      head(out, LEASE_EXPIRED, entry.task, entry.counted ? COUNTED : 0);
      out.f64(entry.leaseSeq);
      return;
    case 'TaskCancelled':
      head(out, TASK_CANCELLED, entry.task, entry.result === null ? 0 : HAS_RESULT);
      out.f64(entry.leaseSeq);
      out.u8(VERBS.indexOf(entry.verb));
      if (entry.result !== null) encodeOpaque(out, area, entry.result);
      return;
    case 'TaskFailed':
      if (entry.nextState === 'DEAD') head(out, TASK_FAILED_DEAD, entry.task, 0);
      else head(out, TASK_FAILED, entry.task, entry.nextState === 'FAILED' ? ENDS_FAILED : 0);
      out.f64(entry.leaseSeq);
      out.f64(entry.dueAtMs);
      out.string(entry.reason);
      return;
    case 'TaskReleased':
      head(out, TASK_RELEASED, entry.task, 0);
      out.f64(entry.leaseSeq);
      out.f64(entry.dueAtMs);
      return;
    case 'TaskDead':
      head(out, TASK_DEAD, entry.task, 0);
      out.f64(entry.leaseSeq);
      out.string(entry.reason);
      return;
    case 'NameLeased':
      out.u8(NAME_LEASED);
      out.u8(entry.metadata === null ? 0 : HAS_METADATA);
      out.f64(entry.expiresAtMs);
      if (entry.metadata !== null) encodeOpaque(out, area, entry.metadata);
      out.u32(entry.names.length);
      for (const name of entry.names) out.string(name);
      out.string(entry.holder);
      out.binary(entry.tokenHash);
      return;
    case 'NameRenewed':
      out.u8(NAME_RENEWED);
      out.f64(entry.leaseSeq);
      out.f64(entry.expiresAtMs);
      out.string(entry.name);
      return;
    case 'NameReleased':
      out.u8(NAME_RELEASED);
      out.f64(entry.leaseSeq);
      out.string(entry.name);
      return;
    case 'NameExpired':
      out.u8(NAME_EXPIRED);
      out.f64(entry.leaseSeq);
      out.string(entry.name);
      return;
    case 'NameBroken':
      out.u8(NAME_BROKEN);
      out.f64(entry.leaseSeq);
      out.string(entry.name);
      out.string(entry.reason);
      return;
    case 'NamesWiped':
      out.u8(NAMES_WIPED);
      out.f64(entry.count);
      out.string(entry.prefix);
      return;
    case 'ObjectWritten':
      out.u8(OBJECT_WRITTEN);
      encodeWrite(out, area, entry);
      return;
    case 'ObjectDeleted':
      out.u8(OBJECT_DELETED);
      out.f64(entry.leaseSeq);
      out.f64(entry.version);
      out.string(entry.objectId);
      return;
    case 'QueuePaused':
      out.u8(QUEUE_PAUSED);
      out.string(entry.queue);
      return;
    case 'QueueResumed':
      out.u8(QUEUE_RESUMED);
      out.string(entry.queue);
      return;
    case 'EpochStarted':
      out.u8(EPOCH_STARTED);
      out.u8(entry.restored ? RESTORED : 0);
      out.f64(entry.epoch);
      out.f64(entry.version);
      out.string(entry.format);
      return;
    case 'Forgotten':
      encodeForgotten(out, entry);
      return;
    case 'IntentAccepted':
      out.u8(hasFirstName(entry) ? INTENT_ACCEPTED : NAMED_INTENT_ACCEPTED);
      encodeIntentAccepted(out, area, entry);
      return;
    case 'SessionChanged':
      out.u8(SESSION_CHANGED);
      encodeSessionChanged(out, entry);
      return;
    default:
      entry satisfies never;
  }
}

function encodeTaskCreated(out: ByteWriter, area: OpaqueArea, entry: TaskCreated): void {
  const usual =
    entry.maxFailures === USUAL_MAX_FAILURES &&
    entry.backoffMs === USUAL_BACKOFF_MS &&
    entry.maxBackoffMs === USUAL_MAX_BACKOFF_MS &&
    entry.maxAttempts === USUAL_MAX_ATTEMPTS;
  const flags = (entry.dedupKey === null ? 0 : HAS_DEDUP_KEY) | (usual ? USUAL_POLICY : 0);
  head(out, TASK_CREATED, entry.task, flags);
  out.i8(entry.priority);
  out.f64(entry.dueAtMs);
  encodeOpaque(out, area, entry.payload);
  out.string(entry.queue);
  if (!usual) {
    out.f64(entry.maxFailures);
    out.f64(entry.backoffMs);
    out.f64(entry.maxBackoffMs);
    out.f64(entry.maxAttempts);
  }
  if (entry.dedupKey !== null) out.string(entry.dedupKey);
}

function encodeTaskCompleted(out: ByteWriter, area: OpaqueArea, entry: TaskCompleted): void {
  const flags = (entry.result === null ? 0 : HAS_RESULT) | (entry.writes.length === 0 ? 0 : HAS_WRITES);
  head(out, TASK_COMPLETED, entry.task, flags);
  out.f64(entry.leaseSeq);
  if (entry.result !== null) encodeOpaque(out, area, entry.result);
  if (entry.writes.length === 0) return;
  out.u32(entry.writes.length);
  for (const write of entry.writes) {
    out.reserve(FIXED_MAX);
    encodeWrite(out, area, write);
  }
}

function encodeWrite(out: ByteWriter, area: OpaqueArea, write: FencedWrite): void {
  out.f64(write.leaseSeq);
  out.f64(write.version);
  encodeOpaque(out, area, write.value);
  out.string(write.objectId);
}

/** After it there is still room for the fixed-width fields of any record. */
function head(out: ByteWriter, type: number, task: TaskKey, flags: number): void {
  out.u8(type);
  out.u8(typeof task === 'string' ? flags | KEY_IS_STRING : flags);
  encodeKey(out, task);
}

function encodeForgotten(out: ByteWriter, { tasks, names, sessions }: Forgotten): void {
  out.u8(sessions.length === 0 ? FORGOTTEN : FORGOTTEN_WITH_SESSIONS);
  out.u32(tasks.length);
  out.u32(names.length);
  if (sessions.length !== 0) out.u32(sessions.length);
  for (const task of tasks) {
    out.reserve(FIXED_MAX);
    out.u8(typeof task === 'string' ? KEY_IS_STRING : 0);
    encodeKey(out, task);
  }
  for (const name of names) out.string(name);
  out.reserve(sessions.length * 8);
  for (const session of sessions) out.f64(session);
}

/** Reads records; `areaAt` is the position of the opaque area of their frame. */
export class EntryDecoder {
  /** Every opaque read is also put here while it is not null. */
  opaques: Opaque[] | null = null;
  readonly #in: ByteReader;
  #areaAt = 0;

  constructor(source: ByteReader) {
    this.#in = source;
  }

  open(buffer: Buffer, at: number, areaAt: number): void {
    this.#in.open(buffer, at);
    this.#areaAt = areaAt;
  }

  next(): Entry {
    const source = this.#in;
    const type = source.u8();
    switch (type) {
      case TASK_CREATED:
        return this.#taskCreated();
      case LEASE_GRANTED: {
        const flags = source.u8();
        const task = decodeKey(source, flags);
        const attempt = source.f64();
        const expiresAtMs = source.f64();
        const workerId = source.cachedString();
        const requestId = flags & HAS_REQUEST_ID ? source.string() : null;
        return { type: 'LeaseGranted', task, workerId, attempt, expiresAtMs, requestId };
      }
      case TASK_COMPLETED: {
        const flags = source.u8();
        const task = decodeKey(source, flags);
        const leaseSeq = source.f64();
        const result = flags & HAS_RESULT ? this.opaque() : null;
        const writes = flags & HAS_WRITES ? this.#writes() : NO_WRITES;
        return { type: 'TaskCompleted', task, leaseSeq, result, writes };
      }
      case LEASE_EXTENDED: {
        const task = decodeKey(source, source.u8());
        return { type: 'LeaseExtended', task, leaseSeq: source.f64(), expiresAtMs: source.f64() };
      }
      case LEASE_EXPIRED: {
        const flags = source.u8();
        const task = decodeKey(source, flags);
        return { type: 'LeaseExpired', task, leaseSeq: source.f64(), counted: (flags & COUNTED) !== 0 };
      }
      case TASK_CANCELLED: {
        const flags = source.u8();
        const task = decodeKey(source, flags);
        const leaseSeq = source.f64();
        const verb = known(VERBS, source.u8(), 'verb');
        return {
          type: 'TaskCancelled',
          task,
          leaseSeq,
          verb,
          result: flags & HAS_RESULT ? this.opaque() : null,
        };
      }
      case TASK_FAILED:
      case TASK_FAILED_DEAD: {
        const flags = source.u8();
        const task = decodeKey(source, flags);
        const leaseSeq = source.f64();
        const dueAtMs = source.f64();
        const nextState = type === TASK_FAILED_DEAD ? 'DEAD' : flags & ENDS_FAILED ? 'FAILED' : 'WAITING';
        return { type: 'TaskFailed', task, leaseSeq, reason: source.string(), nextState, dueAtMs };
      }
      case TASK_RELEASED: {
        const task = decodeKey(source, source.u8());
        return { type: 'TaskReleased', task, leaseSeq: source.f64(), dueAtMs: source.f64() };
      }
      case TASK_DEAD: {
        const task = decodeKey(source, source.u8());
        return { type: 'TaskDead', task, leaseSeq: source.f64(), reason: source.string() };
      }
      case NAME_LEASED: {
        const flags = source.u8();
        const expiresAtMs = source.f64();
        const metadata = flags & HAS_METADATA ? this.opaque() : null;
        const names = decodeStrings(source, source.u32());
        const holder = source.cachedString();
        return { type: 'NameLeased', names, holder, tokenHash: source.binary(), expiresAtMs, metadata };
      }
      case NAME_RENEWED: {
        const leaseSeq = source.f64();
        const expiresAtMs = source.f64();
        return { type: 'NameRenewed', name: source.string(), leaseSeq, expiresAtMs };
      }
      case NAME_RELEASED: {
        const leaseSeq = source.f64();
        return { type: 'NameReleased', name: source.string(), leaseSeq };
      }
      case NAME_EXPIRED: {
        const leaseSeq = source.f64();
        return { type: 'NameExpired', name: source.string(), leaseSeq };
      }
      case NAME_BROKEN: {
        const leaseSeq = source.f64();
        return { type: 'NameBroken', name: source.string(), leaseSeq, reason: source.string() };
      }
      case NAMES_WIPED: {
        const count = source.f64();
        return { type: 'NamesWiped', prefix: source.string(), count };
      }
      case OBJECT_WRITTEN:
        return { type: 'ObjectWritten', ...this.#write() };
      case OBJECT_DELETED: {
        const leaseSeq = source.f64();
        const version = source.f64();
        return { type: 'ObjectDeleted', objectId: source.string(), leaseSeq, version };
      }
      case QUEUE_PAUSED:
        return { type: 'QueuePaused', queue: source.string() };
      case QUEUE_RESUMED:
        return { type: 'QueueResumed', queue: source.string() };
      case EPOCH_STARTED: {
        const restored = (source.u8() & RESTORED) !== 0;
        const epoch = source.f64();
        const version = source.f64();
        return { type: 'EpochStarted', epoch, format: source.string(), version, restored };
      }
      case FORGOTTEN:
        return this.#forgotten(source.u32(), source.u32(), 0);
      case FORGOTTEN_WITH_SESSIONS:
        return this.#forgotten(source.u32(), source.u32(), source.u32());
      case INTENT_ACCEPTED:
      case NAMED_INTENT_ACCEPTED:
        return decodeIntentAccepted(source, this.opaque(), type === NAMED_INTENT_ACCEPTED);
      case SESSION_CHANGED:
        return decodeSessionChanged(source);
      default:
        throw new LogTooNewError(`The log holds entries of type ${type}, which this version does not know.`);
    }
  }

  opaque(): Opaque {
    const source = this.#in;
    const length = source.u32();
    const crc = source.u32();
    const offset = source.u32();
    const opaque = { bytes: null, at: length === 0 ? NOWHERE : this.#areaAt + offset, length, crc };
    if (this.opaques !== null) this.opaques.push(opaque);
    return opaque;
  }

  #taskCreated(): TaskCreated {
    const source = this.#in;
    const flags = source.u8();
    const task = decodeKey(source, flags);
    const priority = source.i8();
    const dueAtMs = source.f64();
    const payload = this.opaque();
    const queue = source.cachedString();
    const usual = (flags & USUAL_POLICY) !== 0;
    const maxFailures = usual ? USUAL_MAX_FAILURES : source.f64();
    const backoffMs = usual ? USUAL_BACKOFF_MS : source.f64();
    const maxBackoffMs = usual ? USUAL_MAX_BACKOFF_MS : source.f64();
    const maxAttempts = usual ? USUAL_MAX_ATTEMPTS : source.f64();
    const dedupKey = flags & HAS_DEDUP_KEY ? source.string() : null;
    if (flags & HAD_DIGEST) source.binary();
    return {
      type: 'TaskCreated',
      task,
      queue,
      priority,
      dueAtMs,
      maxFailures,
      backoffMs,
      maxBackoffMs,
      maxAttempts,
      dedupKey,
      payload,
    };
  }

  #forgotten(tasksCount: number, namesCount: number, sessionsCount: number): Forgotten {
    const source = this.#in;
    const tasks: TaskKey[] = [];
    for (let i = 0; i < tasksCount; i++) tasks.push(decodeKey(source, source.u8()));
    const names = decodeStrings(source, namesCount);
    const sessions: number[] = [];
    for (let i = 0; i < sessionsCount; i++) sessions.push(source.f64());
    return { type: 'Forgotten', tasks, names, sessions };
  }

  #write(): FencedWrite {
    const source = this.#in;
    const leaseSeq = source.f64();
    const version = source.f64();
    const value = this.opaque();
    return { objectId: source.string(), leaseSeq, version, value };
  }

  #writes(): FencedWrite[] {
    const count = this.#in.u32();
    const writes: FencedWrite[] = [];
    for (let i = 0; i < count; i++) writes.push(this.#write());
    return writes;
  }
}

const NO_WRITES: readonly FencedWrite[] = [];
