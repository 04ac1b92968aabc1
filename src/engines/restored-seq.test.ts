// Where a restored log continues: no fence goes back, whichever backup is restored, and however often.
import { describe, expect, it } from 'vitest';
import { RESTORE_JUMP, restoredSeq } from './restored-seq.ts';

const NOW_MS = Date.parse('2026-07-01T12:00:00.000Z');
const BEFORE_2020_MS = Date.parse('1970-01-02T00:00:00.000Z');
/** More than any log gives out. */
const SEQS_PER_MS = 1_000;

describe('the first number of a restored log', () => {
  it('is at least 2^40 above the backup, whatever the clock says', () => {
    for (const nowMs of [BEFORE_2020_MS, Number.NEGATIVE_INFINITY, NOW_MS, NOW_MS + 0.5]) {
      for (const lastSeq of [0, 1, 2 ** 40, 2 ** 50]) {
        const seq = restoredSeq({ lastSeq, nowMs });
        expect(seq).toBeGreaterThanOrEqual(lastSeq + 2 ** 40);
        expect(Number.isSafeInteger(seq)).toBe(true);
      }
    }
  });

  it('is above everything that an earlier restore of the same backup has given out', () => {
    const first = restoredSeq({ lastSeq: 100, nowMs: NOW_MS });
    for (const laterMs of [1, 1_000, 86_400_000]) {
      const given = first + laterMs * SEQS_PER_MS;
      expect(restoredSeq({ lastSeq: 100, nowMs: NOW_MS + laterMs })).toBeGreaterThan(given);
    }
  });

  it('is above what the restore of a newer backup has given out, when an older one follows', () => {
    const newer = restoredSeq({ lastSeq: 5_000_000, nowMs: NOW_MS });
    expect(restoredSeq({ lastSeq: 100, nowMs: NOW_MS + 10 })).toBeGreaterThan(newer + 10 * SEQS_PER_MS);
  });

  it('is at least 2^40 above a number that is known to have been given out', () => {
    // The clock stands still, or restores follow one another in a chain: time alone says the same number again.
    const first = restoredSeq({ lastSeq: 100, nowMs: NOW_MS });
    expect(restoredSeq({ lastSeq: 100, nowMs: NOW_MS })).toBe(first);
    const given = first + 1_000;
    expect(restoredSeq({ lastSeq: 100, nowMs: NOW_MS, aboveSeq: given })).toBe(given + 2 ** 40);
    const chained = restoredSeq({ lastSeq: given, nowMs: NOW_MS + 10 });
    expect(chained).toBe(given + 2 ** 40);
    expect(restoredSeq({ lastSeq: 100, nowMs: NOW_MS + 20, aboveSeq: chained })).toBe(chained + 2 ** 40);
  });

  it('is not lowered by a number that is below the others', () => {
    const seq = restoredSeq({ lastSeq: 100, nowMs: NOW_MS });
    expect(restoredSeq({ lastSeq: 100, nowMs: NOW_MS, aboveSeq: 7 })).toBe(seq);
  });

  it('leaves 2^40 numbers and more, or is refused', () => {
    const lastSeq = 2 ** 53 - 2 * RESTORE_JUMP;
    expect(restoredSeq({ lastSeq, nowMs: NOW_MS })).toBe(2 ** 53 - 2 ** 40);
    const tooMuch = [
      { lastSeq: lastSeq + 1, nowMs: NOW_MS },
      { lastSeq: 1, nowMs: NOW_MS, aboveSeq: 2 ** 53 - 1 },
      { lastSeq: 1, nowMs: Date.parse('2299-06-01T00:00:00.000Z') },
      { lastSeq: 1, nowMs: Number.NaN },
    ];
    for (const from of tooMuch) expect(() => restoredSeq(from)).toThrow('fewer than 2^40 numbers');
  });
});
