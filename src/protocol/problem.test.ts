// Which refusals may be over later: the client's short list, held against the table.
import { describe, expect, it } from 'vitest';
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { isRetryable } from './problem.ts';

describe('whether the same call can succeed later', () => {
  it.each(Object.keys(REFUSALS) as RefusalCode[])('is what the table says: %s', (code) => {
    expect(isRetryable(code)).toBe(REFUSALS[code].retry !== 'never');
  });

  it('is no for a code of a newer server', () => {
    expect(isRetryable('NOT_KNOWN_YET' as RefusalCode)).toBe(false);
  });
});
