// The log over HTTP: a part of it as lines, the whole as it grows, as lines and as events.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import {
  type Body,
  type Served,
  type Stream,
  startServed,
  stopAllServed,
} from '../../test/support/served.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { fileEngine } from '../engines/file/file-engine.ts';

let served: Served;

beforeEach(async () => {
  served = await startServed();
});
afterEach(stopAllServed);

const pause = (queue: string): Promise<Body> => served.done('queue.pause', { queue });

async function entries(query: string): Promise<Body[]> {
  const { status, headers, text } = await served.send('GET', `/v1/log${query}`);
  expect([status, headers['content-type']], text).toEqual([200, 'application/x-ndjson']);
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
}
const seqs = async (query: string): Promise<number[]> => (await entries(query)).map(({ seq }) => seq);

describe('a part of the log', () => {
  beforeEach(async () => {
    for (let n = 2; n <= 150; n++) await pause(`q${n}`);
  });

  it('is its entries, one on a line', async () => {
    const found = await entries('?from=1&limit=3');
    expect(found.map(({ type }) => type)).toEqual(['EpochStarted', 'QueuePaused', 'QueuePaused']);
    expect(found[1]).toEqual({
      seq: 2,
      at: expect.stringMatching(/^\d{4}-.+Z$/),
      type: 'QueuePaused',
      queue: 'q2',
    });
  });

  it('begins where it is asked to, and has as many as it is asked for', async () => {
    expect(await seqs('?from=10&limit=3')).toEqual([10, 11, 12]);
    expect(await seqs('?from=149&limit=1000')).toEqual([149, 150]);
    expect(await seqs('?limit=2')).toEqual([1, 2]);
    const all = Array.from({ length: 150 }, (_, n) => n + 1);
    for (const query of ['', '?from=1', '?limit=100000']) expect(await seqs(query)).toEqual(all);
  });

  it('from zero is from the beginning, and from beyond the end is nothing', async () => {
    expect(await seqs('?from=0&limit=1')).toEqual([1]);
    expect(await seqs('?from=151')).toEqual([]);
    expect(await seqs('?from=9007199254740991')).toEqual([]);
  });

  it.each([
    '?from=-1',
    '?from=x',
    '?from=1.5',
    '?from=1e3',
    '?from=9007199254740992',
    '?limit=0',
    '?limit=9007199254740992',
    '?follow=0',
    '?follow=true',
    '?seq=1',
    '?from=1&from=2',
  ])('is refused when it is not clear which: %s', async (query) => {
    expect(expectProblem(await served.send('GET', `/v1/log${query}`), '/v1/log').code).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('shows nothing of a token but its hash', async () => {
    const token = 'a-token-of-16-bytes';
    await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000, token });
    const { text } = await served.send('GET', '/v1/log?from=151');
    expect(text).toContain('"type":"NameLeased"');
    expect(text).not.toContain(token);
  });
});

describe('the log as it grows', () => {
  /** The lines of the next entries. */
  const take = async (stream: Stream, count: number): Promise<number[]> => {
    const found: number[] = [];
    while (found.length < count) found.push((await stream.line()).seq);
    return found;
  };

  it('comes line by line, from where it is asked for', async () => {
    await pause('a');
    const stream = await served.stream('/v1/log?from=1&follow=1');
    expect([stream.status, stream.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
    expect(stream.headers['x-request-id']).toMatch(/./);
    expect(stream.headers['x-accel-buffering']).toBe('no');
    expect(await take(stream, 2)).toEqual([1, 2]);
    await pause('b');
    expect(await take(stream, 1)).toEqual([3]);
    for (const queue of ['c', 'd', 'e']) await pause(queue);
    expect(await take(stream, 3)).toEqual([4, 5, 6]);
    stream.destroy();
  });

  it('ends after as many as it is asked for, some of them still to come', async () => {
    await pause('a');
    const whole = await served.stream('/v1/log?from=1&follow=1');
    const stream = await served.stream('/v1/log?from=1&follow=1&limit=3');
    expect(await take(stream, 2)).toEqual([1, 2]);
    const ops = ['b', 'c', 'd'].map((payload) => ({ op: 'task.create', payload }));
    await served.send('POST', '/v1/batch', { body: { ops } });
    expect(await take(stream, 1)).toEqual([3]);
    expect(await stream.line()).toBeNull();
    expect(await take(whole, 5)).toEqual([1, 2, 3, 4, 5]);
    whole.destroy();
    const early = await served.stream('/v1/log?from=2&follow=1&limit=2');
    expect(await take(early, 2)).toEqual([2, 3]);
    expect(await early.line()).toBeNull();
  });

  it('comes from now on when no place is named', async () => {
    await pause('a');
    const stream = await served.stream('/v1/log?follow=1');
    await pause('b');
    expect((await stream.line()).queue).toBe('b');
    stream.destroy();
  });

  it('comes in order and whole to each of many, wherever they began', async () => {
    for (let n = 0; n < 50; n++) await pause(`early-${n}`);
    const starts = Array.from({ length: 40 }, (_, n) => 1 + n);
    const streams = await Promise.all(starts.map((from) => served.stream(`/v1/log?from=${from}&follow=1`)));
    const ops = Array.from({ length: 300 }, (_, n) => ({ op: 'task.create', payload: n }));
    for (let times = 0; times < 3; times++) await served.send('POST', '/v1/batch', { body: { ops } });
    const last = (await served.done('status.get')).seq;
    const found = await Promise.all(streams.map((stream, n) => take(stream, last - starts[n]! + 1)));
    for (const [n, seen] of found.entries()) expect(seen).toEqual(seen.map((_, index) => starts[n]! + index));
    for (const stream of streams) stream.destroy();
  });

  it('is no longer written to those who have gone', async () => {
    const streams = await Promise.all([1, 2, 3].map(() => served.stream('/v1/log?follow=1')));
    const followers = async (): Promise<string> =>
      /^leasehold_followers (\d+)$/m.exec((await served.send('GET', '/metrics')).text)![1]!;
    await served.until(async () => (await followers()) === '3');
    for (const stream of streams) stream.destroy();
    await served.until(async () => (await followers()) === '0');
  });
});

describe('the events', () => {
  it('have the seq as their id, the type as their name and the entry as their data', async () => {
    await pause('a');
    const stream = await served.stream('/v1/events?from=2');
    expect([stream.status, stream.headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(stream.headers['cache-control']).toBe('no-store');
    expect(await stream.event()).toEqual({
      id: '2',
      event: 'QueuePaused',
      data: { seq: 2, at: expect.any(String), type: 'QueuePaused', queue: 'a' },
    });
    stream.destroy();
  });

  it('continue behind the last one that was seen, whatever the path says', async () => {
    for (const queue of ['a', 'b', 'c']) await pause(queue);
    for (const [path, id, next] of [
      ['/v1/events', '2', '3'],
      ['/v1/events?from=1', '3', '4'],
      ['/v1/events?from=4', '0', '1'],
      ['/v1/events?from=2', '', '2'],
    ] as const) {
      const stream = await served.stream(path, { headers: { 'last-event-id': id } });
      expect((await stream.event())?.id).toBe(next);
      stream.destroy();
    }
  });

  it('begin now for those who have seen none', async () => {
    await pause('a');
    const stream = await served.stream('/v1/events');
    await pause('b');
    expect((await stream.event())?.data.queue).toBe('b');
    stream.destroy();
  });

  it.each(['x', '-1', '1.5', '1e3', '0x10', '1 2', '9007199254740991', 'Infinity'])(
    'do not resume from %j',
    async (id) => {
      const answer = await served.send('GET', '/v1/events', { headers: { 'last-event-id': id } });
      expect(expectProblem(answer, '/v1/events')).toMatchObject({
        code: 'INVALID_ARGUMENT',
        detail: 'Last-Event-ID must be a seq.',
      });
    },
  );

  it.each(['limit=2', 'seq=1'])('are refused with what they do not take: %s', async (query) => {
    const answer = await served.send('GET', `/v1/events?${query}`);
    expect(expectProblem(answer, '/v1/events')).toMatchObject({
      code: 'INVALID_ARGUMENT',
      detail: expect.stringContaining(`The field ${query.split('=')[0]} is unknown`),
    });
  });

  it('tell a holder at once that its lease was broken or superseded', async () => {
    const { lease_seq } = await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 });
    const stream = await served.stream('/v1/events');
    await served.done('lease.break', { name: 'n', reason: 'stuck' });
    expect(await stream.event()).toMatchObject({ event: 'NameBroken', data: { name: 'n', lease_seq } });
    await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 });
    expect(await stream.event()).toMatchObject({ event: 'NameLeased' });
    stream.destroy();
  });
});

describe('below the first entry that is kept', () => {
  it('the log answers LOG_COMPACTED, with where it begins now', async () => {
    const disk = new TestDisk();
    const sizes = { segmentBytes: 16 * 1024, compactionBytesMin: 16 * 1024 };
    served = await startServed({
      engine: fileEngine({ dir: '/data', files: disk, threads: inlineThreads(disk), ...sizes }),
    });
    const firstSeq = async (): Promise<number> => (await served.done('status.get')).first_seq;
    await served.until(async () => {
      await pause('x'.repeat(200));
      await served.done('queue.resume', { queue: 'x'.repeat(200) });
      return (await firstSeq()) > 1;
    });
    for (const path of ['/v1/log?from=1', '/v1/log?from=0', '/v1/log?from=1&follow=1', '/v1/events?from=1']) {
      const answer = await served.send('GET', path);
      const body = expectProblem(answer, path.split('?')[0]);
      expect([answer.status, body.code, body.first_seq]).toEqual([410, 'LOG_COMPACTED', await firstSeq()]);
    }
    const resumed = await served.send('GET', '/v1/events', { headers: { 'last-event-id': '1' } });
    expect(expectProblem(resumed).code).toBe('LOG_COMPACTED');
    expect(await seqs('?limit=1')).toEqual([await firstSeq()]);
    const stream = await served.stream(`/v1/log?from=${await firstSeq()}&follow=1`);
    expect((await stream.line()).seq).toBe(await firstSeq());
    stream.destroy();
  });
});

describe('a log that cannot be compacted', () => {
  it('continues, and the log of the server says why', async () => {
    const fault = new Error('EACCES: the checkpoint cannot be written');
    const threads = { start: () => ({ result: Promise.reject(fault), stop: async () => undefined }) };
    const sizes = { segmentBytes: 16 * 1024, compactionBytesMin: 1 };
    served = await startServed({
      engine: fileEngine({ dir: '/data', files: new TestDisk(), threads, ...sizes }),
    });
    const warnings = () => served.said.filter(({ level }) => level === 'warn');
    await served.until(async () => {
      await pause('x'.repeat(200));
      await served.done('queue.resume', { queue: 'x'.repeat(200) });
      return warnings().some(({ fields }) => 'err' in fields);
    });
    expect(warnings()).toContainEqual({
      level: 'warn',
      fields: { err: fault },
      says: 'the log could not be compacted; it is tried again',
    });
    expect((await served.call('status.get')).status).toBe(200);
  });
});

describe('a log that is ahead of the clock of the machine', () => {
  const AHEAD_MS = 3 * 24 * 3_600_000;
  const warnings = () => served.said.filter(({ fields }) => 'ahead_ms' in fields);

  it('continues from its end, and the log of the server says by how much', async () => {
    const engine = fileEngine({ dir: '/data', files: new TestDisk() });
    served = await startServed({ engine });
    served.advance(AHEAD_MS);
    await pause('later');
    await served.stop();
    expect(warnings()).toEqual([]);
    served = await startServed({ engine });
    expect(warnings()).toEqual([
      {
        level: 'warn',
        fields: { ahead_ms: expect.any(Number) },
        says: 'the log is ahead of the clock of this machine; time continues from the end of the log',
      },
    ]);
    const { ahead_ms: aheadMs } = warnings()[0]!.fields as { ahead_ms: number };
    // What has gone by since is not ahead any more.
    expect(aheadMs).toBeGreaterThan(AHEAD_MS - 3_600_000);
    expect(aheadMs).toBeLessThanOrEqual(AHEAD_MS);
    const [newest] = await entries(`?from=${(await served.done('status.get')).seq}`);
    expect(Date.parse(newest!.at)).toBeGreaterThan(Date.now() + AHEAD_MS - 3_600_000);
  });
});
