/** The table of refusals against the contract. */
import { describe, expect, it } from 'vitest';
import { REFUSALS, type RefusalCode } from './refusals.ts';

/** What the rules can say, as the contract lists it; `LEASE_EXPIRED` is 412 where a write presents the lease and 409 elsewhere. */
const STATUSES: Partial<Record<RefusalCode, number>> = {
  INVALID_ARGUMENT: 400,
  GUARD_NOT_HELD: 403,
  TASK_NOT_FOUND: 404,
  LEASE_NOT_FOUND: 404,
  OBJECT_NOT_FOUND: 404,
  TASK_ID_CONFLICT: 409,
  TASK_TERMINAL: 409,
  LEASE_UNKNOWN: 409,
  LEASE_NOT_CURRENT: 409,
  LEASE_HELD: 409,
  LEASE_NOT_HELD: 409,
  LEASE_EXPIRED: 409,
  LEASE_OBJECT_MISMATCH: 412,
  WRITE_STALE_FENCE: 412,
  WRITE_UNKNOWN_FENCE: 412,
  LEASE_HOLDER_MISMATCH: 412,
  VERSION_MISMATCH: 412,
  WRITE_UNFENCED: 428,
};

describe('refusals', () => {
  it.each(Object.entries(STATUSES))('%s is %i', (code, status) => {
    expect(REFUSALS[code as RefusalCode].status).toBe(status);
  });

  it('are written in capitals, each with a sentence of its own', () => {
    for (const [code, { says }] of Object.entries(REFUSALS)) {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(says).toMatch(/^[A-Z].*\.$/);
    }
    const sentences = Object.values(REFUSALS).map(({ says }) => says);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  it('of the rules can be retried with effect only where another caller is in the way', () => {
    const retried = Object.keys(STATUSES).filter((code) => REFUSALS[code as RefusalCode].retry !== 'never');
    expect(retried).toEqual(['LEASE_HELD']);
  });
});
