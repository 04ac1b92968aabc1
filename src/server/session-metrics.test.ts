// 2. Tuner Metric Truth: what the metrics say about sessions, slots and the guard, held against what happened.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { SessionStage } from '../../test/support/session-stage.ts';
import { seqOfSessionId } from '../core/ids.ts';
import type { SessionTable } from '../core/sessions/session-table.ts';

let served: Served;
let stage: SessionStage;

beforeEach(async () => {
  served = await startServed({ intents: { secret: 'a secret of the operator' } });
  stage = new SessionStage(served);
  await stage.takeGuard();
});
afterEach(stopAllServed);

/** The value of one sample. */
async function figure(name: string): Promise<number> {
  const { text } = await served.send('GET', '/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`${name} is not there.`);
  return Number(line.slice(name.length + 1));
}

const violations = (rule: string) => figure(`leasehold_invariant_violation_total{rule="${rule}"}`);
const warnings = () => served.said.filter(({ level }) => level === 'warn');

/** What the authority believes, to be bent: no operation can break these rules. */
const table = (): SessionTable => served.authority.state.sessions;
const sessionOf = (id: string) => table().at(seqOfSessionId(id))!;

describe('leasehold_slots_in_use', () => {
  it('is the number of slots that sessions claim and hold', async () => {
    expect(await figure('leasehold_slots_in_use')).toBe(0);
    const first = await stage.ready({ serviceRef: 'a' });
    await stage.starting({ serviceRef: 'b' });
    await stage.accept({ serviceRef: 'c' });
    expect(await figure('leasehold_slots_in_use')).toBe(2);
    await stage.done('session.stop', { session_id: first });
    expect(await figure('leasehold_slots_in_use')).toBe(2);
    await stage.change(first, 'stopped');
    expect(await figure('leasehold_slots_in_use')).toBe(1);
    served.advance(15_000);
    expect(await figure('leasehold_slots_in_use')).toBe(0);
    expect(await violations('lease_mismatch')).toBe(0);
    expect(warnings()).toEqual([]);
  });

  it('is also there under its older name', async () => {
    await stage.ready({ serviceRef: 'a' });
    expect(await figure('xg2g_tuners_in_use')).toBe(1);
    expect(await figure('xg2g_invariant_violation_total{rule="lease_mismatch"}')).toBe(0);
  });

  it('does not count leases that belong to no session', async () => {
    await stage.done('lease.acquire', { name: 'lease:tuner:0', holder: 'a stranger', ttl_ms: 60_000 });
    expect(await figure('leasehold_slots_in_use')).toBe(0);
  });
});

describe('leasehold_tasks_total', () => {
  it('counts the start task of a session as created', async () => {
    await stage.accept({ serviceRef: 'a' });
    expect(await figure('leasehold_tasks_total{queue="system:session-starts",event="created"}')).toBe(1);
  });
});

describe('leasehold_invariant_violation_total', () => {
  it('has both rules with 0 from the start', async () => {
    expect(await violations('duplicate_slot_claim')).toBe(0);
    expect(await violations('lease_mismatch')).toBe(0);
  });

  it('counts a claim without its lease once, however often it is looked at, and warns once', async () => {
    const id = await stage.ready();
    sessionOf(id).slot = '7';
    expect(await figure('leasehold_slots_in_use')).toBe(0);
    expect(await violations('lease_mismatch')).toBe(1);
    expect(await violations('lease_mismatch')).toBe(1);
    expect(warnings()).toMatchObject([
      { fields: { rule: 'lease_mismatch', session_id: id, slot: '7', lease_seq: expect.any(Number) } },
    ]);
  });

  it('counts a slot that two sessions claim once, for the second of them', async () => {
    const first = await stage.ready({ serviceRef: 'a' });
    const second = await stage.ready({ serviceRef: 'b' });
    sessionOf(second).slot = sessionOf(first).slot;
    expect(await figure('leasehold_slots_in_use')).toBe(1);
    expect(await violations('duplicate_slot_claim')).toBe(1);
    const rules = warnings().map(({ fields }) => (fields as { rule: string }).rule);
    expect(rules.sort()).toEqual(['duplicate_slot_claim', 'lease_mismatch']);
  });
});

describe('the other figures of sessions', () => {
  it('count starts and ends by reason, every reason from the start', async () => {
    const { text } = await served.send('GET', '/metrics');
    const reasons = [...text.matchAll(/^leasehold_session_ends_total\{reason="(\w+)"\} 0$/gm)];
    expect(reasons.map(([, reason]) => reason).sort()).toEqual([
      'R_CANCELLED',
      'R_CLIENT_STOP',
      'R_IDLE_TIMEOUT',
      'R_LEASE_BUSY',
      'R_LEASE_EXPIRED',
      'R_NO_TUNER',
      'R_PIPELINE_START_FAILED',
      'R_PROCESS_ENDED',
      'R_SHUTDOWN',
    ]);
    await stage.ended({ serviceRef: 'a' });
    await stage.ready({ serviceRef: 'b' });
    const cancelled = await stage.accept({ serviceRef: 'c' });
    await stage.done('session.stop', { session_id: cancelled });
    expect(await figure('leasehold_session_starts_total')).toBe(2);
    expect(await figure('leasehold_session_ends_total{reason="R_PROCESS_ENDED"}')).toBe(1);
    expect(await figure('leasehold_session_ends_total{reason="R_CANCELLED"}')).toBe(1);
    expect(await figure('leasehold_sessions{state="READY"}')).toBe(1);
    expect(await figure('leasehold_sessions{state="CANCELLED"}')).toBe(1);
    served.advance(15_000);
    await stage.done('session.list', {});
    expect(await figure('leasehold_session_ends_total{reason="R_LEASE_EXPIRED"}')).toBe(1);
  });

  it('measure the time from an intent until its session is READY', async () => {
    const id = await stage.starting();
    served.advance(3_000);
    await stage.change(id, 'ready');
    expect(await figure('leasehold_session_start_seconds_count')).toBe(1);
    const seconds = await figure('leasehold_session_start_seconds_sum');
    expect(seconds).toBeGreaterThanOrEqual(3);
    expect(seconds).toBeLessThan(13);
    expect(await figure('leasehold_session_start_seconds_bucket{le="2.5"}')).toBe(0);
  });

  it('tell whether the guard is held, and for how long', async () => {
    expect(await figure('leasehold_guard_held')).toBe(1);
    const seconds = await figure('leasehold_guard_remaining_seconds');
    expect(seconds).toBeGreaterThan(3_500);
    expect(seconds).toBeLessThanOrEqual(3_600);
    served.advance(3_600_000);
    expect(await figure('leasehold_guard_held')).toBe(0);
    expect(await figure('leasehold_guard_remaining_seconds')).toBe(0);
  });
});
