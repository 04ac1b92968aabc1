// What a bad request is told: one sentence that names the field and what is wrong with it.
import { describe, expect, it } from 'vitest';
import { CHECKS } from './checks.ts';
import type { Operation } from './table.ts';

const SENTENCES: readonly (readonly [Operation, unknown, string])[] = [
  ['task.create', {}, 'The field payload is missing.'],
  ['lease.acquire', { name: 'n', ttl_ms: 1_000 }, 'The field holder is missing.'],
  [
    'task.create',
    { payload: 1, colour: 'red' },
    'The field colour is unknown; known are payload, task_id, queue, priority, delay_ms, retry, max_attempts, dedup_key, key, trace.',
  ],
  [
    'task.create',
    { payload: 1, retry: { max: 3 } },
    'The field retry.max is unknown; known are max_failures, backoff_ms, max_backoff_ms.',
  ],
  [
    'task.list',
    { state: 'waiting' },
    'The field state must be one of WAITING, LEASED, COMPLETED, FAILED, DEAD.',
  ],
  [
    'lease.acquire',
    { name: 'n', holder: '', ttl_ms: 1_000 },
    'The field holder must be 1 to 256 bytes of printable text in NFC.',
  ],
  ...['a\nb', 'x'.repeat(257), 7].map(
    (prefix) =>
      [
        'lease.list',
        { prefix },
        'The field prefix must be 1 to 256 bytes of printable text in NFC.',
      ] as const,
  ),
  ['lease.get', 7, 'The request is wrong: expected object.'],
];

describe('the sentence about a bad request', () => {
  it.each(SENTENCES)('of %s %j is: %s', (operation, request, sentence) => {
    expect(CHECKS[operation].accepts(request)).toBe(false);
    expect(CHECKS[operation].explain(request)).toBe(sentence);
  });
});
