/**
 * Earlier states of the log, rebuilt by replay: from the nearest base, or from a cached moment before the position, which
 * then moves there. So playing forward replays each entry once. A moment that moves is gone at its old position; going
 * back and forth between two positions ends up with one moment for each.
 *
 * The number of moments and the rows of all of them are bounded; the least recently used ones are dropped.
 */
import { createState, type State } from '../core/state.ts';
import type { Replay } from '../engines/log.ts';
import type { Pace } from '../engines/pace.ts';
import type { LogPast, PastBase, PastLog } from '../engines/past.ts';
import { replayInto } from './open-authority.ts';
import type { ReadView } from './reads.ts';
import { stillView } from './still-view.ts';

/** The newest entry at or below `seq` and not after `atMs`. */
export interface PastPosition {
  readonly seq: number;
  readonly atMs: number;
}

export interface MomentLimits {
  readonly moments: number;
  /** Tasks, names and sessions of all moments together. */
  readonly rows: number;
}

/** The state at that position exceeds the bound on the rows of all moments together. */
export class MomentTooLargeError extends Error {
  override readonly name = 'MomentTooLargeError';
}

interface Moment {
  readonly state: State;
  readonly replay: Replay;
  /** The first part of the base it was restored from; the moment can be read as long as that base is kept. */
  readonly base: number;
  /** The newest batch that was replayed. */
  cursor: number;
}

/** Replaying so many entries is quicker than restoring another base. */
const SHORT_REPLAY = 100_000;

export class Moments {
  private readonly pace: Pace;
  private readonly limits: MomentLimits;
  /** Most recently used first. */
  private readonly moments: Moment[] = [];

  constructor(pace: Pace, limits: MomentLimits) {
    this.pace = pace;
    this.limits = limits;
  }

  /** The state at a position within the past. Valid until the next call. */
  async at(past: LogPast, log: PastLog, position: PastPosition): Promise<ReadView> {
    this.dropUnreadable(past);
    const base = past.bases.findLast((each) => isWithin(each, position))!;
    const moment = this.nearest(position, base) ?? (await this.restored(base, log));
    await this.advance(moment, log, position);
    // The time is that of the newest entry.
    return stillView(moment.state, moment.state.lastAtMs);
  }

  /** The opaque bytes of a moment are in the files of its base and later ones. */
  private dropUnreadable({ bases }: LogPast): void {
    const kept = new Set(bases.map(keyOf));
    for (let index = this.moments.length - 1; index >= 0; index--) {
      if (!kept.has(this.moments[index]!.base)) this.moments.splice(index, 1);
    }
  }

  /** The newest moment at or before the position, unless the base is much nearer. It becomes the most recently used. */
  private nearest(position: PastPosition, base: PastBase): Moment | null {
    let found: Moment | null = null;
    for (const moment of this.moments) {
      const { lastSeq: seq, lastAtMs: atMs } = moment.state;
      if (!isWithin({ seq, atMs }, position) || base.seq - seq > SHORT_REPLAY) continue;
      if (found === null || seq > found.state.lastSeq) found = moment;
    }
    if (found === null) return null;
    this.moments.splice(this.moments.indexOf(found), 1);
    this.moments.unshift(found);
    return found;
  }

  private async restored(base: PastBase, log: PastLog): Promise<Moment> {
    while (this.moments.length >= this.limits.moments) this.moments.pop();
    const state = createState();
    const moment: Moment = { state, replay: replayInto(state), base: keyOf(base), cursor: 0 };
    await log.restore(base, (record) => {
      this.pace.step();
      // The first record says how many rows follow.
      moment.replay.image(record);
      if (record.kind === 'head') this.makeRoom(moment);
    });
    this.moments.unshift(moment);
    return moment;
  }

  private async advance(moment: Moment, log: PastLog, position: PastPosition): Promise<void> {
    const { state, replay } = moment;
    try {
      for await (const batch of log.batches(state.lastSeq, moment.cursor)) {
        if (batch.firstSeq > position.seq || batch.atMs > position.atMs) break;
        batch.each((entry, seq, atMs) => {
          if (seq <= state.lastSeq || seq > position.seq) return;
          this.pace.step();
          replay.entry(entry, seq, atMs);
        });
        moment.cursor = batch.cursor;
        this.makeRoom(moment);
        if (state.lastSeq >= position.seq) break;
      }
    } catch (fault) {
      // A batch may be half applied.
      this.drop(moment);
      throw fault;
    }
  }

  /** Evicts other moments until this one fits. */
  private makeRoom(moment: Moment): void {
    const others = this.moments.filter((each) => each !== moment);
    let rows = rowsOf(moment) + others.reduce((sum, each) => sum + rowsOf(each), 0);
    while (rows > this.limits.rows) {
      const oldest = others.pop();
      if (oldest === undefined) throw new MomentTooLargeError();
      rows -= rowsOf(oldest);
      this.drop(oldest);
    }
  }

  private drop(moment: Moment): void {
    const index = this.moments.indexOf(moment);
    if (index >= 0) this.moments.splice(index, 1);
  }
}

function isWithin(
  { seq, atMs }: { readonly seq: number; readonly atMs: number },
  position: PastPosition,
): boolean {
  return seq <= position.seq && atMs <= position.atMs;
}

function keyOf({ parts }: PastBase): number {
  return parts[0] ?? 0;
}

function rowsOf({ state: { tasks, names, sessions } }: Moment): number {
  return tasks.rows.used + names.rows.used + sessions.open.size + sessions.ended.size;
}
