/**
 * Metrics of sessions, slots and the guard. Slots in use are computed from the state for every scrape, never counted up
 * and down. An invalid claim on a slot is a broken invariant: it is counted once for each session and grant, with a warning
 * in the server's log.
 */
import { liveGuard } from '../authority/reads.ts';
import type { SessionStats } from '../authority/sessions/session-stats.ts';
import type { SessionState } from '../core/entries.ts';
import { seqOfSessionId } from '../core/ids.ts';
import type { Machine } from '../core/machine.ts';
import type { BrokenClaim, ClaimRule } from '../core/sessions/slot-claims.ts';
import type { Metrics } from './metrics.ts';
import type { Sample } from './metrics-text.ts';

const MS = 1_000;

/** The figures of one read of the state. */
export interface SessionFigures {
  readonly slotsInUse: number;
  /** The remaining time of the guard; null when it is not held. */
  readonly guardRemainingMs: number | null;
}

interface NewestFigures extends SessionFigures {
  readonly counts: Readonly<Record<SessionState, number>>;
}

/** Remembers claims that broke a rule, so that each is counted once, however often the page is scraped. */
export class SessionClaims {
  readonly counts: Record<ClaimRule, number> = { duplicate_slot_claim: 0, lease_mismatch: 0 };
  private readonly warn: (fields: object, says: string) => void;
  /** Counted claims, by the position of the intent of their session. */
  private readonly seen = new Map<number, Set<string>>();

  constructor(warn: (fields: object, says: string) => void) {
    this.warn = warn;
  }

  look(machine: Machine): SessionFigures {
    const { state, batchAtMs } = machine;
    const guard = liveGuard(machine);
    const { inUse, violations } = machine.sessions.slotClaims();
    for (const violation of violations) this.note(violation);
    for (const seq of this.seen.keys()) if (!state.sessions.open.has(seq)) this.seen.delete(seq);
    return {
      slotsInUse: inUse,
      guardRemainingMs: guard === null ? null : guard.expiresAtMs - batchAtMs,
    };
  }

  private note({ rule, sessionId, slot, leaseSeq }: BrokenClaim): void {
    const seq = seqOfSessionId(sessionId);
    const seen = this.seen.get(seq) ?? new Set();
    this.seen.set(seq, seen);
    const claim = `${rule} ${leaseSeq}`;
    if (seen.has(claim)) return;
    seen.add(claim);
    this.counts[rule] += 1;
    const fields = { rule, session_id: sessionId, slot, lease_seq: leaseSeq };
    this.warn(fields, 'a session claims a slot that it does not hold alone');
  }
}

export function exposeSessions(
  metrics: Metrics,
  stats: SessionStats,
  claims: SessionClaims,
  newest: () => NewestFigures | null,
): void {
  /** Left out while the state cannot be read. */
  const figure = (pick: (figures: SessionFigures) => number) => (): Sample[] => {
    const figures = newest();
    return figures === null ? [] : [{ value: pick(figures) }];
  };
  // The same figures under their current and their older name.
  for (const name of ['leasehold_slots_in_use', 'xg2g_tuners_in_use']) {
    const slotsInUse = figure((figures) => figures.slotsInUse);
    metrics.expose(
      name,
      'gauge',
      'Slots claimed by a session that has not ended and holds their lease. Computed from the state.',
      slotsInUse,
    );
  }
  for (const name of ['leasehold_invariant_violation_total', 'xg2g_invariant_violation_total']) {
    metrics.expose(
      name,
      'counter',
      'Invalid claims on a slot, once for each session and lease_seq, by rule: duplicate_slot_claim, lease_mismatch. Above 0: a bug; the log names the session.',
      () => Object.entries(claims.counts).map(([rule, value]) => ({ value, labels: { rule } })),
    );
  }
  metrics.expose(
    'leasehold_sessions',
    'gauge',
    'Sessions by state. Growing NEW: no orchestrator, or a slow one.',
    () => {
      const figures = newest();
      return Object.entries(figures?.counts ?? {}).map(([state, value]) => ({ value, labels: { state } }));
    },
  );
  metrics.expose(
    'leasehold_session_starts_total',
    'counter',
    'Sessions that got their service and a slot.',
    () => [{ value: stats.starts }],
  );
  metrics.expose(
    'leasehold_session_ends_total',
    'counter',
    'Ended sessions, by reason. Many R_NO_TUNER: too few slots. R_LEASE_EXPIRED: orchestrators die. R_PROCESS_ENDED: pipelines die.',
    () => [...stats.ends()].map(({ reason, count }) => ({ value: count, labels: { reason } })),
  );
  metrics.exposeBuckets(
    'leasehold_session_start_seconds',
    'Time from an intent until its session was READY.',
    stats.startMs,
    MS,
  );
  metrics.expose(
    'leasehold_guard_held',
    'gauge',
    '1 while an orchestrator holds the guard. 0: nothing starts.',
    figure(({ guardRemainingMs }) => Number(guardRemainingMs !== null)),
  );
  metrics.expose(
    'leasehold_guard_remaining_seconds',
    'gauge',
    'How long the guard lasts unless renewed; 0 when it is not held. Must stay well above 0.',
    figure(({ guardRemainingMs }) => (guardRemainingMs ?? 0) / MS),
  );
}
