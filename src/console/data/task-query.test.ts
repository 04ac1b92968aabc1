// The language of the search for tasks.
import { describe, expect, it } from 'vitest';
import { parseTaskQuery, quotedWord } from './task-query.ts';

const NOW = Date.parse('2026-01-05T08:00:00.000Z');

describe('a search for tasks', () => {
  it('is a filter by its qualifiers', () => {
    expect(parseTaskQuery('queue:mail state:dead key:acme reason:timeout older:1h worker:w7', NOW)).toEqual({
      filter: {
        queue: 'mail',
        state: 'DEAD',
        key: 'acme',
        reason: 'timeout',
        created_before: '2026-01-05T07:00:00.000Z',
        worker_id: 'w7',
      },
      order: 'newest',
      taskId: null,
      wrong: null,
    });
  });

  it.each([
    ['reason:"it is \\"broken\\""', { reason: 'it is "broken"' }],
    ['queue:"a b" key:c:d', { queue: 'a b', key: 'c:d' }],
    ['newer:2d', { created_after: '2026-01-03T08:00:00.000Z' }],
    ['', {}],
  ])('%s is understood', (text, filter) => {
    expect(parseTaskQuery(text, NOW)).toMatchObject({ filter, wrong: null });
  });

  it.each(['mail', 'a b', 'it is "so"', 'C:\\my files', 'a\\b', '\\"', 'a:b'])('reads %s back', (queue) => {
    const text = `queue:${quotedWord(queue)} state:dead`;
    expect(parseTaskQuery(text, NOW)).toMatchObject({ filter: { queue, state: 'DEAD' }, wrong: null });
  });

  it('takes a word without a qualifier as an id', () => {
    expect(parseTaskQuery('t0000000001a', NOW)).toMatchObject({ taskId: 't0000000001a', wrong: null });
    expect(parseTaskQuery('http://x', NOW)).toMatchObject({ taskId: 'http://x' });
  });

  it.each(['state:broken', 'older:soon', 'queue:', 'order:random', 'a b', 'queue:mail t1'])(
    '%s is not',
    (text) => {
      expect(parseTaskQuery(text, NOW).wrong).toMatch(/\.$/);
    },
  );
});
