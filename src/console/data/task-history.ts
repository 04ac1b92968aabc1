/** The attempts of a task, from its entries: each lease with its extensions, checkpoints, end, and late verdict. */
import type { Body } from '../../browser.ts';

export type LogEntry = Body<'task.history'>['entries'][number];

export type AttemptEnd = 'live' | 'completed' | 'failed' | 'released' | 'expired' | 'dead' | 'restored';

export interface Attempt {
  readonly number: number;
  readonly leaseId: string;
  readonly leaseSeq: number;
  readonly workerId: string;
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly expiresMs: number;
  readonly end: AttemptEnd;
  readonly reason: string | null;
  readonly extensions: readonly number[];
  readonly checkpoints: readonly number[];
  /** A verdict that arrived after the end of the lease and was refused. */
  readonly late: { readonly atMs: number; readonly verb: string; readonly byMs: number } | null;
}

type Open = { -readonly [Field in keyof Attempt]: Attempt[Field] } & {
  extensions: number[];
  checkpoints: number[];
};

const ENDS: Readonly<Record<string, AttemptEnd>> = {
  TaskCompleted: 'completed',
  TaskFailed: 'failed',
  TaskReleased: 'released',
  LeaseExpired: 'expired',
  TaskDead: 'dead',
};

export function attemptsOf(entries: readonly LogEntry[]): Attempt[] {
  const attempts = new Map<string, Open>();
  for (const entry of entries) {
    const fields = entry as unknown as Record<string, unknown>;
    const atMs = Date.parse(entry.at);
    if (entry.type === 'LeaseGranted') {
      attempts.set(String(fields.lease_id), {
        number: Number(fields.attempt),
        leaseId: String(fields.lease_id),
        leaseSeq: entry.seq,
        workerId: String(fields.worker_id),
        fromMs: atMs,
        toMs: null,
        expiresMs: Date.parse(String(fields.expiry_timestamp)),
        end: 'live',
        reason: null,
        extensions: [],
        checkpoints: [],
        late: null,
      });
      continue;
    }
    if (entry.type === 'EpochStarted') {
      for (const each of attempts.values()) if (each.toMs === null) finish(each, 'restored', atMs, null);
      continue;
    }
    const attempt = attempts.get(String(fields.lease_id));
    if (attempt === undefined) continue;
    if (entry.type === 'LeaseExtended') {
      attempt.extensions.push(atMs);
      attempt.expiresMs = Date.parse(String(fields.new_expiry_timestamp));
    } else if (entry.type === 'TaskCheckpointed') attempt.checkpoints.push(atMs);
    else if (entry.type === 'TaskCancelled') {
      attempt.late = { atMs, verb: String(fields.verb), byMs: atMs - (attempt.toMs ?? attempt.expiresMs) };
    } else if (entry.type in ENDS && attempt.toMs === null) {
      finish(attempt, ENDS[entry.type]!, atMs, typeof fields.reason === 'string' ? fields.reason : null);
    }
  }
  return [...attempts.values()];
}

function finish(attempt: Open, end: AttemptEnd, atMs: number, reason: string | null): void {
  attempt.end = end;
  attempt.toMs = atMs;
  attempt.reason = reason;
}
