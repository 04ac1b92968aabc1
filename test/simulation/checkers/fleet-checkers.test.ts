// The checkers of worlds with several servers, on histories written by hand: silent on a good one, loud on a bad one.
import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../history.ts';
import type { Json } from '../plan.ts';
import { oneLeader } from './one-leader.ts';
import { read } from './reading.ts';
import { realTime } from './real-time.ts';

const LEASE = 7;

const boot = (simMs: number, epoch: number, isWarm: boolean): HistoryEvent => ({
  kind: 'boot',
  node: `s${epoch}.1`,
  epoch,
  lastSeq: epoch,
  lastAtMs: 0,
  isWarm,
  simMs,
});

function call(
  id: number,
  op: 'lease.get' | 'lease.acquire' | 'lease.renew',
  simMs: number,
  body: Record<string, Json> = {},
): HistoryEvent[] {
  const request = { name: 'a' };
  return [
    { kind: 'call', id, layer: 'wire', client: 'c1', op, request, batch: id, simMs },
    { kind: 'answer', id, status: 200, body: { lease_seq: LEASE, ...body }, simMs: simMs + 1 },
  ];
}

const served = (simMs: number, id: number, epoch: number): HistoryEvent => ({
  kind: 'served',
  id,
  epoch,
  simMs,
});

const expired = (simMs: number): HistoryEvent => ({
  kind: 'entry',
  source: 'feed',
  node: 's1.1',
  seq: 9,
  atMs: 0,
  entry: { type: 'NameExpired', name: 'a', lease_seq: LEASE },
  simMs,
});

describe('one-leader', () => {
  const found = (...events: HistoryEvent[]): number => oneLeader.check(read({ events })).length;

  it('finds a read that an older leader answers', () => {
    expect(found(boot(0, 1, false), boot(10, 2, true), ...call(1, 'lease.get', 11), served(12, 1, 1))).toBe(
      1,
    );
  });

  it('finds nothing in what the leader answers, or an older one has appended in time', () => {
    const read1 = [...call(1, 'lease.get', 5), served(6, 1, 1)];
    const read2 = [...call(2, 'lease.get', 11), served(12, 2, 2)];
    const late = [...call(3, 'lease.renew', 9), served(13, 3, 1)];
    expect(found(boot(0, 1, false), ...read1, boot(10, 2, true), ...read2, ...late)).toBe(0);
  });
});

describe('real-time', () => {
  const found = (...events: HistoryEvent[]): number => realTime.check(read({ events })).length;
  const granted = call(1, 'lease.acquire', 1_000, { remaining_ms: 60_000 });
  /** What its holder takes off. */
  const MARGIN_MS = 3_000;

  it('finds a lease that ends while its holder relies on it, behind a warm standby or none', () => {
    const early = expired(61_000 - MARGIN_MS - 1);
    expect(found(boot(0, 1, false), ...granted, early)).toBe(1);
    expect(found(boot(0, 1, false), ...granted, boot(20_000, 2, true), early)).toBe(1);
  });

  it('counts from the newest renewal', () => {
    const renewed = call(2, 'lease.renew', 30_000, { remaining_ms: 60_000 });
    expect(found(boot(0, 1, false), ...granted, ...renewed, expired(61_000))).toBe(1);
    expect(found(boot(0, 1, false), ...granted, ...renewed, expired(90_000))).toBe(0);
  });

  it('finds nothing when it ends in time, or behind a cold start', () => {
    expect(found(boot(0, 1, false), ...granted, boot(20_000, 2, true), expired(61_000 - MARGIN_MS))).toBe(0);
    expect(found(boot(0, 1, false), ...granted, boot(20_000, 2, false), expired(30_000))).toBe(0);
  });
});
