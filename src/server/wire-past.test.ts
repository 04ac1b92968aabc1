// The time machine over the wire: every read of the state, as of an earlier position, is what it was then.
import { afterEach, describe, expect, it } from 'vitest';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import {
  type Body,
  type Served,
  type ServedOptions,
  startServed,
  stopAllServed,
} from '../../test/support/served.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { PAGES } from '../operations/pages.ts';
import { OPERATION_NAMES, type Operation, operationOf, READS } from '../operations/table.ts';
import type { Threads } from '../seams/threads.ts';

afterEach(stopAllServed);

const KIB = 1024;

function startOn(
  disk: TestDisk,
  { start, ...options }: ServedOptions & Partial<Threads> = {},
): Promise<Served> {
  const threads = { ...inlineThreads(disk), ...(start === undefined ? {} : { start }) };
  const sizes = { segmentBytes: 32 * KIB, compactionBytesMin: 64 * KIB };
  const engine = fileEngine({ dir: '/data', files: disk, threads, ...sizes });
  return startServed({ engine, servingThreads: threads, ...options });
}

/** Reads of the state with the fields of a request each. */
const LOOKS = {
  'task.get': { task_id: 't1' },
  'task.list': {},
  'task.why': { task_id: 't1' },
  'lease.get': { name: 'n1' },
  'lease.list': {},
  'object.get': { object_id: 'n1' },
  'object.list': {},
  'queue.list': {},
  'schedule.get': { name: 's1' },
  'schedule.list': {},
  'session.get': { session_id: '' },
  'session.list': {},
  'status.get': {},
} satisfies Partial<Record<Operation, object>>;

/** Without what depends on when it was asked, or is soft state. */
function settled(value: Body): Body {
  if (Array.isArray(value)) return value.map(settled);
  if (typeof value !== 'object' || value === null) return value;
  const soft = [
    'remaining_ms',
    'requestId',
    'idle_ms',
    'polled_by',
    'says',
    'log_bytes',
    'clock_off_ms',
    'first_seq',
    'first_at',
  ];
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, item]) => (soft.includes(field) ? [] : [[field, settled(item)]])),
  );
}

class Story {
  readonly served: Served;
  readonly seen = new Map<number, Record<string, Body>>();
  session = 's0000000000a';

  constructor(served: Served) {
    this.served = served;
  }

  async looks(fields: object = {}): Promise<Record<string, Body>> {
    const found: Record<string, Body> = {};
    for (const [name, own] of Object.entries(LOOKS)) {
      const request = name === 'session.get' ? { session_id: this.session } : own;
      const { status, body } = await this.served.call(name as Operation, { ...request, ...fields });
      found[name] = { status, body: settled(body) };
    }
    return found;
  }

  async note(): Promise<void> {
    const found = await this.looks();
    this.seen.set(found['status.get'].body.seq, found);
  }

  /** Something of everything, noted after each step. */
  async live(round: number): Promise<void> {
    const { served } = this;
    const steps: (() => Promise<unknown>)[] = [
      () => served.done('task.create', { task_id: `t${round}`, payload: { round, pad: 'x'.repeat(900) } }),
      async () => {
        const { leases } = await served.done('task.lease', { worker_id: 'w1', ttl_ms: 60_000 });
        for (const { task_id, lease_id } of leases)
          await served.done('task.complete', { task_id, lease_id, result: { done: round } });
      },
      async () => {
        const { token, lease_seq } = await served.done('lease.acquire', {
          name: 'n1',
          holder: 'h',
          ttl_ms: 60_000,
          metadata: { round },
        });
        await served.done('object.write', { object_id: 'n1', value: { round }, lease: { lease_seq } });
        if (round % 2 === 0) await served.done('lease.release', { name: 'n1', holder: 'h', token });
      },
      () =>
        served.done('schedule.put', { name: 's1', cron: '0 2 * * *', queue: 'nights', payload: { round } }),
      () => served.done(round % 2 === 0 ? 'queue.pause' : 'queue.resume', { queue: 'mail' }),
      async () => {
        const reply = await served.done('intent.accept', {
          type: 'live',
          serviceRef: `r${round}`,
          profileID: 'p',
        });
        this.session = reply.session_id;
      },
      () => served.done('session.stop', { session_id: this.session }),
      () => served.done('task.bulk', { action: 'purge', filter: { state: 'COMPLETED' }, reason: 'old' }),
    ];
    for (const step of steps) {
      await step();
      await this.note();
    }
  }

  async expectAll(): Promise<void> {
    for (const [at_seq, then] of this.seen) {
      const now = await this.looks({ at_seq });
      // Which session was looked at then is another one than now.
      expect({ ...now, 'session.get': null }, `at ${at_seq}`).toEqual({ ...then, 'session.get': null });
    }
  }
}

describe('reads of the state as of an earlier position', () => {
  it('are what they were then, payloads and purged tasks included, also after a restart', async () => {
    const disk = new TestDisk();
    let served = await startOn(disk);
    const story = new Story(served);
    for (let round = 1; round <= 3; round++) await story.live(round);
    await story.expectAll();
    const { seen } = story;
    await served.stop();
    served = await startOn(disk);
    const again = new Story(served);
    for (const [seq, looks] of seen) again.seen.set(seq, looks);
    await again.expectAll();
    const purged = [...seen.values()].some((looks) => looks['task.get'].body.state === 'COMPLETED');
    expect(purged).toBe(true);
    expect((await served.call('task.get', { task_id: 't1' })).status).toBe(404);
  });

  it('are refused once the authority has ended, also those that were being looked at', async () => {
    let end: (fault: Error) => void = () => undefined;
    let tellAsked: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      tellAsked = resolve;
    });
    const thread = {
      ask: () =>
        new Promise<never>((_, reject) => {
          end = reject;
          tellAsked();
        }),
      stop: async () => end(new Error('The thread has ended.')),
    };
    const servingThreads = { serve: () => thread };
    const served = await startServed({
      engine: fileEngine({ dir: '/data', files: new TestDisk() }),
      servingThreads,
    });
    const { seq: at_seq } = await served.done('task.create', { payload: 1 });
    const first = served.call('task.list', { at_seq });
    const second = served.call('task.list', { at_seq });
    await asked;
    await served.authority.close();
    for (const reply of [first, second, served.call('task.list', { at_seq })]) {
      expect(await reply).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    }
  });

  it('cover every read of the state, and no other', () => {
    const takes = OPERATION_NAMES.filter((name) => 'at_seq' in operationOf(name).request.properties);
    expect(takes.toSorted()).toEqual(Object.keys(LOOKS).toSorted());
    expect(READS.filter(({ past }) => past).map(({ name }) => name)).toEqual(takes);
  });

  it('find the position of an instant, and show time-dependent fields as of that position', async () => {
    const served = await startOn(new TestDisk());
    const granted = await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 });
    served.advance(20_000);
    const { seq } = await served.done('task.create', { payload: 1 });
    const { last_commit: at } = await served.json('/v1/status');
    const before = new Date(Date.parse(at) - 1).toISOString();
    expect(await served.done('status.get', { at: before })).toMatchObject({
      seq: granted.lease_seq,
      counts: { tasks: { WAITING: 0 }, leases: 1 },
    });
    expect(await served.done('status.get', { at })).toMatchObject({ seq, last_commit: at });
    expect(await served.done('lease.get', { name: 'n', at_seq: granted.lease_seq })).toMatchObject({
      remaining_ms: 60_000,
    });
  });

  it('are refused beyond the end, with a wait, with both fields, for other reads, and without a past', async () => {
    const served = await startOn(new TestDisk());
    const { seq } = await served.done('task.create', { task_id: 't1', payload: 1 });
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    for (const [operation, fields] of [
      ['status.get', { at_seq: seq + 1 }],
      ['status.get', { at: soon }],
      ['status.get', { at: 'yesterday' }],
      ['status.get', { at_seq: 1, at: '2020-01-01T00:00:00Z' }],
      ['task.get', { task_id: 't1', at_seq: seq, wait_ms: 10 }],
      ['task.history', { task_id: 't1', at_seq: seq }],
      ['worker.list', { at_seq: seq }],
      ['lease.waiters', { name: 'n', at_seq: seq }],
      ['whoami.get', { at_seq: seq }],
      ['overview.get', { at_seq: seq }],
    ] as const) {
      const answer = await served.call(operation, fields);
      expect(answer.status, `${operation} ${JSON.stringify(fields)}`).toBe(400);
    }
    for (const { method, path } of Object.values(PAGES)) {
      if (method !== 'GET') continue;
      const answer = await served.send('GET', `${path.replace(/\{.*\}/, 'DISK_FULL')}?at_seq=${seq}`);
      expect([path, answer.status, expectProblem(answer).code]).toEqual([path, 400, 'INVALID_ARGUMENT']);
    }
    const inMemory = await startServed();
    expect((await inMemory.call('status.get', { at_seq: 1 })).status).toBe(400);
  });

  it('say from where on they are kept once the log was compacted', async () => {
    const disk = new TestDisk();
    const { start } = inlineThreads(disk);
    let compactions = 0;
    const served = await startOn(disk, {
      // Once, so that the beginning of the log stays where it is.
      start: (...input) => {
        compactions += 1;
        if (compactions > 1) throw new Error('One compaction is enough.');
        return start(...input);
      },
    });
    await served.until(async () => {
      await served.done('task.create', { payload: 'x'.repeat(8 * KIB) });
      return served.authority.stats.compactions > 0;
    });
    const { first_seq, first_at, seq } = await served.done('status.get');
    expect(first_seq).toBeGreaterThan(2);
    const gone = await served.call('status.get', { at_seq: 1 });
    expect(gone.body).toMatchObject({ code: 'LOG_COMPACTED', status: 410, first_seq });
    expect((await served.call('status.get', { at: '2020-01-01T00:00:00Z' })).status).toBe(410);
    expect(await served.done('status.get', { at_seq: first_seq })).toMatchObject({ seq: first_seq });
    expect(await served.done('status.get', { at: first_at })).toMatchObject({ last_commit: first_at });
    expect(await served.done('status.get', { at_seq: seq })).toMatchObject({ seq });
  });

  it('need the same scope, and hide payloads from the same tokens', async () => {
    const tokens = [
      { token: 'w'.repeat(32), scopes: ['v1:write'] },
      { token: 'r'.repeat(32), scopes: ['v1:read'] },
      { token: 's'.repeat(32), scopes: ['v3:read'] },
    ];
    const [writer, reader, other] = tokens.map(({ token }) => ({ token }));
    const served = await startOn(new TestDisk(), { tokens, hidePayloads: true });
    const { seq } = await served.done('task.create', { task_id: 't1', payload: 'secret' }, writer);
    const read = { task_id: 't1', at_seq: seq };
    expect((await served.done('task.get', read, writer)).payload).toBe('secret');
    expect((await served.send('GET', `/v1/tasks/t1?at_seq=${seq}`, reader)).text).not.toContain('secret');
    expect((await served.call('task.get', read, other)).body.code).toBe('FORBIDDEN');
    expect((await served.call('task.get', read)).body.code).toBe('UNAUTHENTICATED');
  });

  it('come over a live connection too', async () => {
    const served = await startOn(new TestDisk());
    const { seq } = await served.done('task.create', { task_id: 't1', payload: { as: 'it was' } });
    await served.done('task.kill', { task_id: 't1', reason: 'no' });
    const wire = await served.live();
    const { status, body } = await wire.call('task.get', { task_id: 't1', at_seq: seq });
    expect([status, (body as Body).state]).toEqual([200, 'WAITING']);
  });

  it('are refused with 503 when too many are waiting already', async () => {
    const disk = new TestDisk();
    const { serve } = inlineThreads(disk);
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const servingThreads = {
      serve(module: string) {
        const { ask, stop } = serve(module);
        return { ask: (question: unknown) => held.then(() => ask(question)), stop };
      },
    };
    const served = await startOn(disk, { servingThreads });
    const { seq } = await served.done('task.create', { payload: 1 });
    const look = () => served.call('status.get', { at_seq: seq });
    let refused = 0;
    const answers = Array.from({ length: 70 }, () =>
      look().then(({ status, body }) => {
        if (body.code === 'OVERLOADED') refused += 1;
        return status;
      }),
    );
    await served.until(() => refused === 6);
    go();
    expect((await Promise.all(answers)).toSorted()).toEqual([...Array(64).fill(200), ...Array(6).fill(503)]);
    expect((await look()).status).toBe(200);
  });
});
