// Waiting for the word by which a pipeline says that it is ready.
import { describe, expect, it } from 'vitest';
import { LineWatch } from './line-watch.ts';

function watching(pattern: RegExp): { read: (text: string) => void; times: () => number } {
  let count = 0;
  const watch = new LineWatch(pattern, () => {
    count += 1;
  });
  return { read: (text) => watch.read(Buffer.from(text)), times: () => count };
}

describe('the word that says ready', () => {
  it.each([
    ['on a line of its own', /^ready$/, ['starting\nrea', 'dy\n']],
    ['on a line that has not ended', /ready/, ['almost\n', 'ready']],
    ['behind a carriage return, as progress is shown', /^ready/, ['50 %\r99 %\rready now']],
    ['in letters of several bytes', /fertig für/, ['fertig f', 'ür heute\n']],
  ])('is found %s', (_where, pattern, pieces) => {
    const { read, times } = watching(pattern);
    for (const piece of pieces) read(piece);
    expect(times()).toBe(1);
    read('ready\n');
    expect(times()).toBe(1);
  });

  it('is not put together from two lines', () => {
    const { read, times } = watching(/ready/);
    read('rea\ndy\n');
    expect(times()).toBe(0);
  });

  it('is found behind any amount of text without a line break, of which little is kept', () => {
    const { read, times } = watching(/ready/);
    for (let piece = 0; piece < 100; piece++) read('.'.repeat(10_000));
    read('ready');
    expect(times()).toBe(1);
  });
});
