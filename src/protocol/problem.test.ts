// Which refusals may be over later: the client's short list, held against the table.
import { describe, expect, it } from 'vitest';
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { isRetryable, problem } from './problem.ts';

describe('whether the same call can succeed later', () => {
  it.each(Object.keys(REFUSALS) as RefusalCode[])('is what the table says: %s', (code) => {
    expect(isRetryable(code)).toBe(REFUSALS[code].retry !== 'never');
  });

  it('is no for a code of a newer server', () => {
    expect(isRetryable('NOT_KNOWN_YET' as RefusalCode)).toBe(false);
  });
});

describe('the detail of a refusal', () => {
  it('names who is in the way, and for how long', () => {
    const held = problem({ refused: 'LEASE_HELD', holder: 'anna', remainingMs: 395 });
    expect(held.detail).toBe('anna holds it for another 395 ms.');
    const waiting = problem({ refused: 'LEASE_HELD', holder: 'boris', remainingMs: 0 });
    expect(waiting.detail).toBe('boris is first in line for it.');
    const among = problem({ refused: 'LEASE_HELD', holder: 'anna', remainingMs: 395, name: 'scanner' });
    expect(among).toMatchObject({ name: 'scanner', detail: 'anna holds "scanner" for another 395 ms.' });
  });

  it('names the fence that a stale write met', () => {
    expect(problem({ refused: 'WRITE_STALE_FENCE', fence: 7 }).detail).toMatch(/The fence is 7\.$/);
    expect(problem({ refused: 'WRITE_UNFENCED', fence: 7 }).detail).toBe(REFUSALS.WRITE_UNFENCED.says);
  });
});
