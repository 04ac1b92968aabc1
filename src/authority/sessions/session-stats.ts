/** Counts how sessions started and ended since this authority was opened. Soft state, for the metrics. */
import type { SessionChanged, SessionReason } from '../../core/entries.ts';
import { Buckets } from '../buckets.ts';

/** Every reason, so that each has its metric before it first happens. */
const REASONS: Readonly<Record<SessionReason, number>> = {
  R_LEASE_BUSY: 0,
  R_NO_TUNER: 1,
  R_CLIENT_STOP: 2,
  R_CANCELLED: 3,
  R_LEASE_EXPIRED: 4,
  R_PIPELINE_START_FAILED: 5,
  R_PROCESS_ENDED: 6,
  R_SHUTDOWN: 7,
  R_IDLE_TIMEOUT: 8,
};

const START_MS = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

export class SessionStats {
  /** Sessions that got their service and their slot. */
  starts = 0;
  /** From the intent until READY. */
  readonly startMs = new Buckets(START_MS);
  private readonly endsByReason = new Float64Array(Object.keys(REASONS).length);

  changed({ state, reason }: SessionChanged, ageMs: number): void {
    switch (state) {
      case 'STARTING':
        this.starts += 1;
        return;
      case 'READY':
        this.startMs.note(ageMs);
        return;
      case 'STOPPED':
      case 'FAILED':
      case 'CANCELLED':
        this.endsByReason[REASONS[reason!]]! += 1;
        return;
      default:
        return;
    }
  }

  *ends(): Generator<{ reason: SessionReason; count: number }> {
    for (const [reason, index] of Object.entries(REASONS) as [SessionReason, number][]) {
      yield { reason, count: this.endsByReason[index]! };
    }
  }
}
