/**
 * The server state that all pages share: status and overview, polled once for all, and the rates computed from the
 * difference of two overviews.
 */
import { signal } from '@preact/signals';
import type { Body } from '../../browser.ts';
import { SPARK_POINTS } from '../parts/figures.tsx';
import { holdTime, learnTime } from './clock.ts';
import { ask, askNow, connection } from './connection.ts';
import { type Feed, useFeed } from './feed.ts';
import { moment } from './route.ts';
import { type LogRange, logRange, shown } from './time-machine.ts';

export type Overview = Body<'overview.get'>;
export type QueueOverview = Overview['queues'][number];
export type Incident = Overview['incidents'][number];
export type Status = Body<'status.get'>;

export interface Watch {
  readonly status: Status;
  /** Soft state of the leader; null at an earlier moment and on a standby. */
  readonly overview: Overview | null;
}

export interface Rates {
  /** Null until two overviews were compared. */
  readonly commitsPerS: number | null;
  readonly commitMs: number | null;
  /** Completions per second by queue, the newest last. */
  readonly completed: ReadonlyMap<string, readonly number[]>;
}

const UNMEASURED: Rates = { commitsPerS: null, commitMs: null, completed: new Map() };

export const watch = signal<Watch | null>(null);
export const rates = signal<Rates>(UNMEASURED);

let before: Overview | null = null;

export function useWatch(): Feed<Watch> {
  return useFeed('watch', async (signal) => {
    const at = moment.value;
    const status = await ask('status.get', {}, signal);
    if (at !== null) {
      const present = await askNow('status.get', {}, signal);
      const seenMs = Date.parse(status.last_commit);
      holdTime(seenMs);
      shown.value = { seq: status.seq, atMs: seenMs };
      logRange.value = rangeOf(present);
      return noted({ status, overview: null });
    }
    holdTime(null);
    if (status.role === 'standby') {
      connection.value = { state: 'standby', leaderUrl: status.leader_url ?? null };
      return noted({ status, overview: null });
    }
    const overview = await ask('overview.get', {}, signal);
    learnTime(overview.now);
    rates.value = ratesAfter(rates.value, before, overview);
    before = overview;
    return noted({ status, overview });
  });
}

function rangeOf(present: Status): LogRange {
  const endMs = Date.parse(present.last_commit);
  return {
    first: {
      seq: present.first_seq,
      atMs: present.first_at === undefined ? endMs : Date.parse(present.first_at),
    },
    end: { seq: present.seq, atMs: endMs },
  };
}

function noted(seen: Watch): Watch {
  watch.value = seen;
  return seen;
}

/** Totals that decrease belong to another server: counting starts over. */
function ratesAfter(rates: Rates, earlier: Overview | null, later: Overview): Rates {
  const seconds = earlier === null ? 0 : (Date.parse(later.now) - Date.parse(earlier.now)) / 1_000;
  if (earlier === null || seconds <= 0 || later.commits < earlier.commits) {
    return UNMEASURED;
  }
  const commits = later.commits - earlier.commits;
  const known = new Map(earlier.queues.map(({ queue, totals }) => [queue, totals.completed]));
  const completed = new Map(
    later.queues.map(({ queue, totals }) => {
      const perS = Math.max(0, totals.completed - (known.get(queue) ?? totals.completed)) / seconds;
      return [queue, [...(rates.completed.get(queue) ?? []), perS].slice(-SPARK_POINTS)] as const;
    }),
  );
  return {
    commitsPerS: commits / seconds,
    commitMs: commits === 0 ? rates.commitMs : (later.commit_ms - earlier.commit_ms) / commits,
    completed,
  };
}
