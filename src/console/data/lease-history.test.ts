// The life of a name, told from its entries.
import { describe, expect, it } from 'vitest';
import { gapsOf, holdingsOf, type LogEntry } from './lease-history.ts';

const at = (second: number): string => new Date(second * 1_000).toISOString();
const entry = (seq: number, second: number, type: string, fields: object = {}): LogEntry =>
  ({ seq, at: at(second), type, ...fields }) as unknown as LogEntry;
const leased = (seq: number, second: number, holder: string): LogEntry =>
  entry(seq, second, 'NameLeased', { holder, expires_at: at(second + 15) });

describe('the holdings of a name', () => {
  it('begin with a grant and end with what ended them', () => {
    const holdings = holdingsOf([
      entry(1, 0, 'NameReleased'),
      leased(2, 1, 'a'),
      entry(3, 6, 'NameRenewed', { expires_at: at(21) }),
      entry(4, 13, 'NameRenewed', { expires_at: at(28) }),
      entry(5, 28, 'NameExpired'),
      leased(6, 30, 'b'),
      leased(7, 31, 'b'),
      entry(8, 33, 'NameBroken', { reason: 'it hangs' }),
      leased(9, 40, 'c'),
    ]);
    expect(holdings.map(({ leaseSeq, holder, end, reason }) => [leaseSeq, holder, end, reason])).toEqual([
      [2, 'a', 'expired', null],
      [6, 'b', 'superseded', null],
      [7, 'b', 'broken', 'it hangs'],
      [9, 'c', 'live', null],
    ]);
    expect(holdingsOf([leased(2, 1, 'a'), entry(9, 5, 'EpochStarted')])[0]).toMatchObject({
      end: 'restored',
      toMs: 5_000,
    });
    expect(gapsOf(holdings[0]!)).toEqual({ longestMs: 7_000, meanMs: 6_000 });
    expect(gapsOf(holdings[3]!)).toBeNull();
  });
});
