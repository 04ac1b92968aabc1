// Hand-written histories for the tests of the checkers: short words for the events of one name, one task, one handle. Every
// event comes one millisecond after the one before, at the world's time and at the authority's, unless it says otherwise.
import { leaseIdOfSeq } from '../../../src/core/ids.ts';
import type { HistoryEvent, UsedEvent } from '../history.ts';
import type { Json } from '../plan.ts';
import type { Checker } from './checker.ts';
import { hashOf, read } from './reading.ts';

type Fields = Record<string, Json>;

const START_MS = Date.parse('2026-01-01T00:00:00.000Z');

/** An instant, so many milliseconds after the start. */
export const at = (ms: number): string => new Date(START_MS + ms).toISOString();

/** What a checker says about a history. */
export function complaints(checker: Checker, story: Story): string[] {
  return checker.check(read({ events: story.events })).map(({ says }) => says);
}

export class Story {
  readonly events: HistoryEvent[] = [];
  nowMs = 0;
  private seq = 0;
  private calls = 0;

  /** The world's time and the authority's move on together. */
  later(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  boot(lastSeq = this.seq + 1, epoch = 1): this {
    this.seq = lastSeq;
    return this.note({ kind: 'boot', node: 'authority', epoch, lastSeq, lastAtMs: START_MS + this.nowMs });
  }

  /** An entry on the feed, at the next position by default. */
  entry(type: string, fields: Fields, seq = this.seq + 1, source: 'feed' | 'replay' | 'log' = 'feed'): this {
    this.seq = Math.max(this.seq, seq);
    const atMs = START_MS + this.nowMs;
    return this.note({ kind: 'entry', source, node: 'authority', seq, atMs, entry: { type, ...fields } });
  }

  leased(name: string | readonly string[], holder: string, ttlMs = 1_000, seq = this.seq + 1): this {
    const names = typeof name === 'string' ? [name] : name;
    return this.entry(
      'NameLeased',
      {
        names,
        holder,
        lease_seq: seq,
        token_sha256: hashOf(`token of ${holder}`),
        acquired_at: at(this.nowMs),
        expires_at: at(this.nowMs + ttlMs),
      },
      seq,
    );
  }

  ended(type: 'NameReleased' | 'NameExpired' | 'NameBroken', name: string, leaseSeq: number): this {
    return this.entry(type, { name, lease_seq: leaseSeq });
  }

  renewed(name: string, leaseSeq: number, endMs: number): this {
    return this.entry('NameRenewed', { name, lease_seq: leaseSeq, expires_at: at(endMs) });
  }

  written(objectId: string, leaseSeq: number, version: number): this {
    return this.entry('ObjectWritten', { object_id: objectId, lease_seq: leaseSeq, version });
  }

  created(task: string, fields: Fields = {}): this {
    const limits = { max_attempts: 100, retry: { max_failures: 5 }, queue: 'default', due_at: at(0) };
    return this.entry('TaskCreated', { task_id: task, ...limits, ...fields });
  }

  granted(task: string, attempt = 1, ttlMs = 1_000): this {
    const seq = this.seq + 1;
    const expires = at(this.nowMs + ttlMs);
    return this.entry('LeaseGranted', {
      task_id: task,
      lease_id: leaseIdOfSeq(seq),
      worker_id: 'w',
      attempt,
      expiry_timestamp: expires,
    });
  }

  onTask(type: string, task: string, leaseSeq: number, fields: Fields = {}): this {
    return this.entry(type, { task_id: task, lease_id: leaseIdOfSeq(leaseSeq), ...fields });
  }

  /** A call that reaches the authority; its number. */
  call(op: string, request: Fields, client = 'c1'): number {
    const id = ++this.calls;
    this.note({ kind: 'call', id, layer: 'wire', client, op: op as 'lease.acquire', request, batch: id });
    this.note({ kind: 'arrive', id });
    return id;
  }

  answer(id: number, body: Fields, status = 200): this {
    return this.note({ kind: 'answer', id, status, body });
  }

  refuse(id: number, code: string, more: Fields = {}): this {
    return this.answer(id, { code, ...more }, 409);
  }

  /** The whole of a granted acquire. */
  acquire(name: string, holder: string, ttlMs = 1_000, client = 'c1'): this {
    const id = this.call(
      'lease.acquire',
      { name, holder, token: `token of ${holder}`, ttl_ms: ttlMs },
      client,
    );
    const grantMs = this.nowMs;
    this.leased(name, holder, ttlMs);
    return this.answer(id, this.grantBody(name, holder, this.seq, grantMs, ttlMs));
  }

  grantBody(name: string, holder: string, seq: number, fromMs: number, ttlMs: number): Fields {
    return {
      name,
      holder,
      token: `token of ${holder}`,
      lease_seq: seq,
      acquired_at: at(fromMs),
      expires_at: at(fromMs + ttlMs),
      remaining_ms: ttlMs,
      seq,
    };
  }

  held(
    handle: number,
    leaseSeq: number,
    names: readonly string[],
    client = 'c1',
    isGuard = false,
    holder = 'x',
  ): this {
    const now = { monotonicMs: this.nowMs, wallMs: this.nowMs };
    return this.note({ kind: 'held', client, handle, names, holder, leaseSeq, isGuard, now, remainingMs: 1 });
  }

  used(handle: number, client = 'c1', authority: UsedEvent['authority'] = null): this {
    const now = { monotonicMs: this.nowMs, wallMs: this.nowMs };
    return this.note({ kind: 'used', client, handle, now, remainingMs: 1, authority });
  }

  lost(handle: number, client = 'c1'): this {
    const now = { monotonicMs: this.nowMs, wallMs: this.nowMs };
    return this.note({ kind: 'lost', client, handle, cause: 'expired', now });
  }

  fault(
    fault: 'disk.truncate' | 'disk.restore' | 'clock.jump' | 'process.pause',
    target: string,
    ...allows: Allowances
  ): this {
    return this.note({ kind: 'fault', fault, target, detail: {}, allows });
  }

  /** The wall clock of a client is set, or its machine sleeps. */
  clock(fault: 'clock.jump' | 'clock.suspend', byMs: number, target = 'c1'): this {
    return this.note({ kind: 'fault', fault, target, detail: { byMs }, allows: [] });
  }

  /** A backup that ends at `lastSeq` is restored, and has been started from. */
  restored(
    lastSeq: number,
    epoch: number,
    { madeAtMs = this.nowMs, seq = lastSeq + 2 ** 40 }: { madeAtMs?: number; seq?: number } = {},
  ): this {
    return this.fault('disk.restore', 'authority', { may: 'restore', madeAtMs, lastSeq, seq })
      .boot(seq + 1, epoch)
      .entry('EpochStarted', { epoch: epoch - 1, restored: true }, seq, 'replay');
  }

  note(event: Untimed<HistoryEvent>): this {
    this.events.push({ ...event, simMs: this.nowMs } as HistoryEvent);
    this.nowMs += 1;
    return this;
  }

  /** The position of the newest entry. */
  get lastSeq(): number {
    return this.seq;
  }
}

type Untimed<E> = E extends HistoryEvent ? Omit<E, 'simMs'> : never;
type Allowances = Extract<HistoryEvent, { kind: 'fault' }>['allows'];
