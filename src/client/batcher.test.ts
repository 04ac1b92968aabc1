// Natural batching, driven by hand: what leaves together, how it is split, and that nothing waits without need.
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../protocol/limits.ts';
import { Batcher, fitsBatch, fitsBody } from './batcher.ts';

interface Call {
  readonly text: string;
  isSettled: boolean;
}

interface Sent {
  readonly body: string;
  readonly reply: (reply: string) => void;
  readonly fail: (fault: Error) => void;
}

const callOf = (text: string): Call => ({ text, isSettled: false });

function stage() {
  const sent: Sent[] = [];
  const answered: [string[], string][] = [];
  const lost: [string[], unknown][] = [];
  const textsOf = (calls: readonly Call[]) => calls.map(({ text }) => text);
  const batcher = new Batcher<Call, string>({
    send: (body) => new Promise((resolve, reject) => sent.push({ body, reply: resolve, fail: reject })),
    answered: (calls, reply) => void answered.push([textsOf(calls), reply]),
    lost: (calls, fault) => void lost.push([textsOf(calls), fault]),
  });
  const add = (...texts: string[]): Call[] =>
    texts.map((text) => {
      const call = callOf(text);
      batcher.add(call);
      return call;
    });
  const opsOf = (index: number): unknown[] => JSON.parse(sent[index]!.body).ops;
  return { sent, answered, lost, add, opsOf };
}

/** Lets promises settle; no timer passes. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => String(from + index));

describe('a batcher', () => {
  it('sends a call to an idle client before anything else can happen', async () => {
    const { sent, add } = stage();
    add('1');
    expect(sent).toHaveLength(0);
    await null;
    expect(sent.map(({ body }) => body)).toEqual(['{"ops":[1]}']);
  });

  it('sends what is called in the same turn together', async () => {
    const { sent, add } = stage();
    add('1', '2');
    add('3');
    await null;
    expect(sent.map(({ body }) => body)).toEqual(['{"ops":[1,2,3]}']);
  });

  it('has two batches on their way, and sends what is called meanwhile together in the third', async () => {
    const { sent, add, opsOf } = stage();
    add('1');
    await turn();
    add('2');
    await turn();
    add('3');
    await turn();
    add('4', '5');
    await turn();
    expect(sent).toHaveLength(2);
    sent[0]!.reply('');
    await turn();
    expect(opsOf(2)).toEqual([3, 4, 5]);
    expect(sent).toHaveLength(3);
  });

  it('lets a good batch leave although two are on their way: it is worth a request of its own', async () => {
    const { sent, add, opsOf } = stage();
    const sizes = (): number[] => sent.map((_, index) => opsOf(index).length);
    add('1');
    await turn();
    add('2');
    await turn();
    add(...numbers(0, 127));
    await turn();
    expect(sizes()).toEqual([1, 1]);
    add('128');
    await turn();
    expect(sizes()).toEqual([1, 1, 65]);
  });

  it('has no more than eight on their way, however much waits', async () => {
    const { sent, add, opsOf } = stage();
    add(...numbers(0, 20_000));
    await turn();
    expect(sent.map((_, index) => opsOf(index).length)).toEqual(Array(8).fill(512));
    sent[3]!.reply('');
    await turn();
    expect(sent).toHaveLength(9);
  });

  it('takes along what is called because of the answers that just came', async () => {
    const sent: string[] = [];
    const waiting: (() => void)[] = [];
    let isFirst = true;
    const batcher = new Batcher<Call, null>({
      send: (body) => {
        sent.push(body);
        return new Promise((resolve) => waiting.push(() => resolve(null)));
      },
      answered: (calls) => {
        // As callers do that have awaited their answer: each goes on in a turn of its own.
        for (const { text } of calls) if (isFirst) queueMicrotask(() => batcher.add(callOf(text)));
        isFirst = false;
      },
      lost: () => undefined,
    });
    for (const text of numbers(0, 30)) batcher.add(callOf(text));
    await turn();
    waiting[0]!();
    await turn();
    expect(sent).toHaveLength(2);
    expect(JSON.parse(sent[1]!).ops).toHaveLength(30);
  });

  it('cuts many calls that come together into halves, so that one half is worked on while the other travels', async () => {
    const { sent, add, opsOf } = stage();
    add(...numbers(0, 100));
    await turn();
    expect(sent.map((_, index) => opsOf(index).length)).toEqual([50, 50]);
    sent[0]!.reply('');
    add(...numbers(100, 150));
    await turn();
    expect(opsOf(2)).toHaveLength(50);
  });

  it('forgets what has been answered or lost when it cuts what comes next', async () => {
    const { sent, add, opsOf } = stage();
    add(...numbers(0, 100));
    await turn();
    sent[0]!.reply('');
    sent[1]!.fail(new Error('gone'));
    await turn();
    add(...numbers(0, 100));
    await turn();
    expect([opsOf(2).length, opsOf(3).length]).toEqual([50, 50]);
  });

  it.each([
    [1_024, [171, 171, 171, 171, 171]],
    [600, [128, 128, 128, 128]],
    [255, [128, 127]],
  ])('cuts %d into sixths, into pieces that are worth a request, or into halves', async (count, sizes) => {
    const { sent, add, opsOf } = stage();
    add(...numbers(0, count));
    await turn();
    expect(sent.map((_, index) => opsOf(index).length).slice(0, sizes.length)).toEqual(sizes);
  });

  it('does not cut a few', async () => {
    const { sent, add, opsOf } = stage();
    add(...numbers(0, 32));
    await turn();
    expect(sent.map((_, index) => opsOf(index).length)).toEqual([32]);
  });

  it('gives every batch its own answer, with its calls in order', async () => {
    const { sent, answered, add } = stage();
    add('1', '2');
    await turn();
    add('3');
    await turn();
    sent[1]!.reply('second');
    await turn();
    sent[0]!.reply('first');
    await turn();
    expect(answered).toEqual([
      [['3'], 'second'],
      [['1', '2'], 'first'],
    ]);
  });

  it('tells which calls were in a batch that was lost, and goes on', async () => {
    const { sent, lost, add, opsOf } = stage();
    add('1', '2');
    await turn();
    const fault = new Error('gone');
    sent[0]!.fail(fault);
    await turn();
    expect(lost).toEqual([[['1', '2'], fault]]);
    add('3');
    await turn();
    expect(opsOf(1)).toEqual([3]);
  });

  it('sends what waited for a batch that was lost, without being called again', async () => {
    const { sent, add, opsOf } = stage();
    for (const text of ['1', '2', '3']) {
      add(text);
      await turn();
    }
    expect(sent).toHaveLength(2);
    sent[0]!.fail(new Error('gone'));
    await turn();
    expect(opsOf(2)).toEqual([3]);
  });

  it('leaves out calls that nobody wants any more', async () => {
    const { sent, add } = stage();
    const calls = add('1', '2', '3');
    calls[1]!.isSettled = true;
    await turn();
    expect(sent.map(({ body }) => body)).toEqual(['{"ops":[1,3]}']);
    const [only] = add('4');
    only!.isSettled = true;
    await turn();
    expect(sent).toHaveLength(1);
  });

  it('splits by the number of operations, and loses none over many batches', async () => {
    const { sent, add, opsOf } = stage();
    add(...numbers(0, 12_000));
    const all: unknown[] = [];
    for (let index = 0; index < sent.length || index === 0; index++) {
      await turn();
      expect(opsOf(index).length).toBeLessThanOrEqual(LIMITS.batchOps);
      all.push(...opsOf(index));
      sent[index]!.reply('');
      await turn();
    }
    expect(all).toEqual(Array.from({ length: 12_000 }, (_, index) => index));
  });

  it.each([
    ['ASCII', 'x'],
    ['characters of three bytes', '€'],
    ['characters of two halves and four bytes', '😀'],
  ])('splits by the bytes of the body: %s', async (_, character) => {
    const { sent, add, opsOf } = stage();
    const text = JSON.stringify(character.repeat(40_000 / character.length));
    add(...Array.from({ length: 60 }, () => text));
    let count = 0;
    for (let index = 0; index < sent.length || index === 0; index++) {
      await turn();
      expect(Buffer.byteLength(sent[index]!.body)).toBeLessThanOrEqual(LIMITS.bodyBytes);
      count += opsOf(index).length;
      sent[index]!.reply('');
      await turn();
    }
    expect(count).toBe(60);
    // Full as far as whole operations go, or at least half full where bytes are not known beforehand.
    expect(sent.length).toBeLessThanOrEqual(
      Math.ceil((60 * Buffer.byteLength(text)) / (LIMITS.bodyBytes / 2)) + 1,
    );
  });
});

describe('what fits', () => {
  it('is counted in bytes', () => {
    expect(fitsBody('x'.repeat(LIMITS.bodyBytes))).toBe(true);
    expect(fitsBody('x'.repeat(LIMITS.bodyBytes + 1))).toBe(false);
    expect(fitsBody('€'.repeat(Math.floor(LIMITS.bodyBytes / 3)))).toBe(true);
    expect(fitsBody('€'.repeat(Math.floor(LIMITS.bodyBytes / 3) + 1))).toBe(false);
  });

  it('leaves room for what a batch puts around an operation', () => {
    const frame = '{"ops":[]}'.length;
    expect(fitsBatch('x'.repeat(LIMITS.bodyBytes - frame))).toBe(true);
    expect(fitsBatch('x'.repeat(LIMITS.bodyBytes - frame + 1))).toBe(false);
  });
});
