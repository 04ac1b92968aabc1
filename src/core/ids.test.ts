/** Ids that are positions. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leaseIdOfSeq, seqOfLeaseId, seqOfTaskId, taskIdOfSeq } from './ids.ts';

describe('ids of our making', () => {
  it('lead back to their position', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (seq) => {
        expect([seqOfTaskId(taskIdOfSeq(seq)), seqOfLeaseId(leaseIdOfSeq(seq))]).toEqual([seq, seq]);
      }),
      { seed: 7 },
    );
    expect(seqOfTaskId(taskIdOfSeq(Number.MAX_SAFE_INTEGER))).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('sort by age', () => {
    const seqs = [1, 9, 31, 32, 1_000, 2 ** 32, 2 ** 40, 2 ** 53 - 1];
    expect(seqs.map(taskIdOfSeq).sort()).toEqual(seqs.map(taskIdOfSeq));
  });

  it.each([
    '',
    't',
    't0000000000',
    't000000000000',
    'T00000000001',
    'l00000000001',
    't0000000000w',
    't0000000000V',
    'tvvvvvvvvvvv',
  ])('are not made of %j', (id) => {
    expect(seqOfTaskId(id)).toBe(0);
  });

  it('of tasks and leases are never mistaken for each other', () => {
    expect([seqOfTaskId(leaseIdOfSeq(5)), seqOfLeaseId(taskIdOfSeq(5))]).toEqual([0, 0]);
  });
});
