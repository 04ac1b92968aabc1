/**
 * Fan-out of the log to thousands of HTTP followers. All followers at the tip get the same bytes, at most 20 times a
 * second; the first entry after a quiet time is sent at once. A follower is a position and a connection:
 *
 *   behind ── reads slices from the log, as fast as its connection drains ──► at the tip
 *   at the tip ── its connection does not drain ──► behind; nothing is buffered for it
 *
 * The hub reads only durable entries, from the log itself, so no follower sees an entry early or twice, or misses one.
 */
import type { Authority } from '../authority/authority.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import {
  encode,
  type FollowFormat,
  type LineFilter,
  LogSlices,
  type ReadableLog,
  Slice,
} from './follow-slices.ts';
import type { LongReads } from './long-reads.ts';
import { type StreamResponse, writeCounted } from './stream-log.ts';

/** At most 20 writes a second to each follower. */
const PAUSE_MS = 50;
const BEAT_MS = 15_000;
/** A follower whose connection does not drain for this many beats is cut, even if the connection looks open. */
const STALLED_BEATS_MAX = 8;
/** How much one flush reads from the log, and sends to all followers together. The next flush sends the rest. */
const FLUSH_CHARACTERS_MAX = 4 * 1024 * 1024;
const FLUSH_CHARACTERS_FOR_ALL = 256 * 1024 * 1024;
/** After this many followers or bytes a flush yields to the event loop. */
const WRITES_A_TURN = 64;
const BYTES_A_TURN = 4 * 1024 * 1024;

/**
 * The keep-alives of a quiet stream. For NDJSON a space: it becomes part of the next line, where every JSON parser skips
 * it; many readers fail on an empty line.
 */
const BEATS: Readonly<Record<FollowFormat, Buffer>> = {
  ndjson: Buffer.from(' '),
  sse: Buffer.from(':\n\n'),
};

export interface FollowOptions {
  readonly format: FollowFormat;
  readonly fromSeq: number;
  /** Which entries are sent, and whether one of them ends the stream. */
  readonly filter?: LineFilter | null;
  /** The stream ends after this many entries. */
  readonly linesMax?: number;
}

interface Follower {
  readonly response: StreamResponse;
  readonly format: FollowFormat;
  readonly filter: LineFilter | null;
  /** The next entry to read; a filter may leave it out. */
  nextSeq: number;
  linesLeft: number;
  isReady: boolean;
  isGone: boolean;
  stalledBeats: number;
  /** Called when the connection has drained, or the follower is gone. */
  whenReady: (() => void) | null;
  readonly drained: () => void;
  readonly detach: () => void;
}

export class FollowHub {
  /** How many followers were cut because they did not keep up. */
  cuts = 0;
  private readonly log: ReadableLog;
  private readonly authority: Authority;
  private readonly timers: Timers;
  private readonly reads: LongReads;
  private readonly onFault: (fault: unknown) => void;
  private readonly slices: LogSlices;
  private readonly followers = new Set<Follower>();
  private readonly atTip = new Set<Follower>();
  /** The first entry that followers at the tip have not been sent. */
  private tipSeq = 0;
  private phase: 'quiet' | 'flushing' | 'pausing' = 'quiet';
  private hasMore = false;
  private isBeatDue = false;
  private pause: Timer | null = null;
  private beat: Timer | null = null;
  private stopListening: (() => void) | null = null;
  private isClosed = false;
  private flushing: Promise<void> = Promise.resolve();
  private readonly stopWatching: () => void;

  /** `onFault` is called when the log cannot be read; the followers that were reading are cut. */
  constructor(
    authority: Authority,
    timers: Timers,
    reads: LongReads,
    onFault: (fault: unknown) => void = () => undefined,
  ) {
    this.authority = authority;
    this.log = authority.log;
    this.timers = timers;
    this.reads = reads;
    this.onFault = onFault;
    this.slices = new LogSlices(authority.log);
    this.stopWatching = authority.whenEnded(() => this.close());
  }

  get size(): number {
    return this.followers.size;
  }

  /** Sends every entry from `fromSeq` on, as it becomes durable. Returns the call that stops it. */
  attach(
    response: StreamResponse,
    { format, fromSeq, filter = null, linesMax = Number.POSITIVE_INFINITY }: FollowOptions,
  ): () => void {
    if (this.isClosed) response.end();
    if (this.isClosed || response.destroyed) return () => undefined;
    if (this.followers.size === 0) this.begin();
    const follower: Follower = {
      response,
      format,
      filter,
      nextSeq: Math.max(1, fromSeq),
      linesLeft: linesMax,
      isReady: true,
      isGone: false,
      stalledBeats: 0,
      whenReady: null,
      drained: () => this.drained(follower),
      detach: () => this.detach(follower),
    };
    this.followers.add(follower);
    response.on('drain', follower.drained);
    response.on('close', follower.detach);
    this.catchUp(follower);
    return follower.detach;
  }

  /** Sends followers at the tip all durable entries without waiting for the pause: some may have been written just now. */
  async settle(): Promise<void> {
    await this.flushing;
    if (this.isClosed || this.log.position.lastSeq < this.tipSeq) return;
    await this.flushOnce().catch((fault: unknown) => this.fail([...this.atTip], fault));
  }

  /** Ends every stream. A stream attached later ends at once. */
  close(): void {
    this.isClosed = true;
    this.stopWatching();
    this.finish([...this.followers]);
    this.pause?.cancel();
  }

  private begin(): void {
    this.tipSeq = this.log.position.lastSeq + 1;
    this.stopListening = this.authority.feed.onBatch(this.wake);
    this.beat = this.timers.after(BEAT_MS, this.onBeat);
  }

  private goIdle(): void {
    this.stopListening?.();
    this.beat?.cancel();
    this.slices.clear();
  }

  private detach(follower: Follower): void {
    if (follower.isGone) return;
    const { response, drained, detach } = follower;
    follower.isGone = true;
    response.off('drain', drained);
    response.off('close', detach);
    this.atTip.delete(follower);
    this.followers.delete(follower);
    follower.whenReady?.();
    if (this.followers.size === 0) this.goIdle();
  }

  /** Ends streams cleanly, after a whole entry. */
  private finish(followers: readonly Follower[]): void {
    for (const follower of followers) {
      this.detach(follower);
      follower.response.end();
    }
  }

  private cut(follower: Follower): void {
    this.cuts += 1;
    this.detach(follower);
    follower.response.destroy();
  }

  private fail(followers: readonly Follower[], fault: unknown): void {
    const present = followers.filter(({ isGone }) => !isGone);
    for (const follower of present) {
      this.detach(follower);
      follower.response.destroy();
    }
    // Closing the log fails pending reads. With no follower left that is not worth a report.
    if (present.length > 0) this.onFault(fault);
  }

  private drained(follower: Follower): void {
    follower.isReady = true;
    follower.stalledBeats = 0;
    follower.whenReady?.();
  }

  private catchUp(follower: Follower): void {
    this.bringToTip(follower).catch((fault: unknown) => this.fail([follower], fault));
  }

  /** Brings a follower from its position to the tip, as fast as its connection drains. */
  private async bringToTip(follower: Follower): Promise<void> {
    for (;;) {
      if (!follower.isReady) await ready(follower);
      if (follower.isGone) return;
      if (follower.nextSeq >= this.tipSeq) break;
      await this.reads.inTurn('slice', () => this.giveNext(follower));
    }
    this.atTip.add(follower);
  }

  /** Reads the next slice for a follower that is behind, and sends it. */
  private async giveNext(follower: Follower): Promise<void> {
    if (follower.isGone) return;
    const slice = await this.slices.read(follower.nextSeq, follower.filter);
    if (follower.isGone) return;
    // Compaction removed its next entry before the follower reached it.
    if (slice === null) this.finish([follower]);
    else this.give(follower, slice, true);
  }

  private readonly onBeat = (): void => {
    this.beat = this.timers.after(BEAT_MS, this.onBeat);
    for (const follower of this.followers) {
      if (follower.isReady) {
        // A follower whose filter matches little would take the silence for a dead server.
        if (!this.atTip.has(follower)) follower.isReady = follower.response.write(BEATS[follower.format]);
        continue;
      }
      follower.stalledBeats += 1;
      if (follower.stalledBeats >= STALLED_BEATS_MAX) this.cut(follower);
    }
    this.isBeatDue = true;
    this.wake();
  };

  /** Called when there is something to send. */
  private readonly wake = (): void => {
    this.hasMore = true;
    if (this.phase !== 'quiet' || this.isClosed) return;
    this.phase = 'flushing';
    // Not synchronously: the authority is about to answer the callers that made the change.
    this.timers.soon(this.flush);
  };

  private readonly flush = (): void => {
    const fromMs = this.authority.clock.nowMs();
    this.hasMore = false;
    this.flushing = this.flushOnce()
      .catch((fault: unknown) => this.fail([...this.atTip], fault))
      .finally(() => {
        this.phase = 'pausing';
        // A flush to thousands of followers may take longer than a pause. An equal pause leaves half the time to others.
        const pauseMs = Math.max(PAUSE_MS, this.authority.clock.nowMs() - fromMs);
        if (!this.isClosed) this.pause = this.timers.after(pauseMs, this.onPauseOver);
      });
  };

  private readonly onPauseOver = (): void => {
    this.phase = 'quiet';
    if (this.hasMore) this.wake();
  };

  private async flushOnce(): Promise<void> {
    const news = await this.readNews();
    const isBeat = this.isBeatDue;
    this.isBeatDue = false;
    let writes = 0;
    let bytes = 0;
    for (const follower of this.atTip) {
      bytes += this.send(follower, news, isBeat);
      writes += 1;
      if (writes < WRITES_A_TURN && bytes < BYTES_A_TURN) continue;
      writes = 0;
      bytes = 0;
      await this.turn();
    }
  }

  /** Reads what became durable since the last flush, if a follower is at the tip. */
  private async readNews(): Promise<Slice | null> {
    const { lastSeq } = this.log.position;
    const found: Slice[] = [];
    const charactersMax = Math.min(FLUSH_CHARACTERS_MAX, FLUSH_CHARACTERS_FOR_ALL / this.atTip.size);
    let characters = 0;
    let nextSeq = this.tipSeq;
    while (this.atTip.size > 0 && nextSeq <= lastSeq) {
      if (characters >= charactersMax) {
        this.hasMore = true;
        break;
      }
      const slice = await this.slices.read(nextSeq);
      if (slice === null) {
        this.finish([...this.atTip]);
        break;
      }
      found.push(slice);
      characters += slice.characters;
      nextSeq = slice.nextSeq;
      await this.turn();
    }
    if (this.atTip.size === 0) nextSeq = lastSeq + 1;
    // Never backwards: meanwhile all followers may have left, and a new one may have started further on.
    this.tipSeq = Math.max(this.tipSeq, nextSeq);
    return found.length === 0 ? null : Slice.of(found);
  }

  /** Sends a follower at the tip what is new and returns the number of bytes. If its connection is full, it falls behind. */
  private send(follower: Follower, news: Slice | null, isBeat: boolean): number {
    const { response, format, nextSeq } = follower;
    const sent = news !== null && news.nextSeq > nextSeq ? this.give(follower, news) : 0;
    if (follower.isGone) return sent;
    if (isBeat && follower.isReady) follower.isReady = response.write(BEATS[format]);
    if (!follower.isReady) {
      this.atTip.delete(follower);
      this.catchUp(follower);
    }
    return sent;
  }

  /**
   * Writes the part of a slice that the follower wants, ends the stream if its last entry is among it, and returns the
   * number of bytes. Followers at the tip share one buffer; a follower that is behind has its own, which counts as unsent.
   */
  private give(follower: Follower, slice: Slice, isCounted = false): number {
    const { response } = follower;
    const bytes = this.bytesFor(follower, slice);
    if (isCounted) follower.isReady = writeCounted(response, bytes, this.reads);
    else if (bytes.length > 0) follower.isReady = response.write(bytes);
    follower.nextSeq = slice.nextSeq;
    if (follower.linesLeft === 0 || slice.ends(follower.filter)) this.finish([follower]);
    return bytes.length;
  }

  private bytesFor(follower: Follower, slice: Slice): Buffer {
    const { format, filter, nextSeq, linesLeft } = follower;
    if (linesLeft === Number.POSITIVE_INFINITY) return slice.bytes(format, nextSeq, filter);
    const lines = slice.linesFrom(nextSeq, filter);
    follower.linesLeft -= Math.min(linesLeft, lines.length);
    // The shared bytes, unless the limit cuts the slice.
    return lines.length <= linesLeft
      ? slice.bytes(format, nextSeq, filter)
      : encode(format, lines.slice(0, linesLeft), filter);
  }

  private turn(): Promise<void> {
    return new Promise((resolve) => this.timers.soon(resolve));
  }
}

/** Resolves once the follower's connection has drained, or the follower is gone. */
function ready(follower: Follower): Promise<void> {
  return new Promise((resolve) => {
    follower.whenReady = () => {
      follower.whenReady = null;
      resolve();
    };
  });
}
