/**
 * Limits reads whose answers may be long: lists, histories, large payloads, and the slices of streams. Such a read costs
 * far more than its request. So only a few of each kind run at a time, other work gets a turn in between, and none begins
 * while too many bytes are unsent. This bounds the memory of reads and unsent answers for all clients together. A client
 * that reads nothing for a while is cut, and sooner while others wait for its room.
 */
import type { Room } from '../authority/request.ts';
import { type Operation, operationOf } from '../operations/table.ts';
import type { Timers } from '../seams/clock.ts';
import { GoneError } from './long-polls.ts';

export type ReadKind = 'list' | 'history' | 'payload' | 'slice' | 'past';

/**
 * How many reads of each kind run at a time, so that one turn of the event loop has few. Each kind has its own line, so no
 * kind waits for another. Earlier moments are read on another thread, which has its own line.
 */
const AT_A_TIME: Readonly<Record<ReadKind, number>> = {
  list: 2,
  history: 2,
  payload: 2,
  slice: 2,
  past: Number.POSITIVE_INFINITY,
};
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
/** Shorter answers are read at once. */
const SHORT_BYTES_MAX = 32 * 1024;
/**
 * How long a client may read nothing. A socket starts its timeout once more when the kernel took a part of the last write, so
 * it may be twice as long.
 */
const STALL_MS = 60_000;
/** How long a client may read nothing while others wait for room. */
const PRESSED_STALL_MS = 10_000;

interface Line {
  readonly max: number;
  busy: number;
  readonly waiting: (() => void)[];
}

/** The part of a ServerResponse that counting unsent bytes needs. */
export interface Receiver {
  readonly destroyed: boolean;
  setTimeout(ms: number): unknown;
  on(event: 'drain' | 'close', call: () => void): unknown;
  prependListener(event: 'finish', call: () => void): unknown;
  off(event: 'drain' | 'close' | 'finish', call: () => void): unknown;
}

/** The turn of a read that learns only while reading whether its answer is long. A class, because every read makes one. */
class LargeRead implements Room {
  private isBusy = false;
  private readonly enter: () => Promise<void>;
  private readonly leave: () => void;
  private readonly isGone: () => boolean;

  constructor(enter: () => Promise<void>, leave: () => void, isGone: () => boolean) {
    this.enter = enter;
    this.leave = leave;
    this.isGone = isGone;
  }

  for(bytes: number): Promise<void> | null {
    if (bytes <= SHORT_BYTES_MAX || this.isBusy) return null;
    return this.enter().then(() => {
      this.isBusy = true;
      if (this.isGone()) throw new GoneError('The connection was closed.');
    });
  }

  /** Called when the answer, or a refusal, was handed to the response. */
  end(): void {
    if (this.isBusy) this.leave();
  }
}

export class LongReads {
  /** Bytes of long answers that the kernel has not taken. */
  private unsentBytes = 0;
  /** Receivers with unsent bytes, and whether the shorter limit applies to them. */
  private readonly receivers = new Map<Receiver, boolean>();
  private readonly timers: Pick<Timers, 'soon'>;
  private readonly stallMs: number;
  private readonly unsentMax: number;
  private readonly lines: Readonly<Record<ReadKind, Line>>;

  constructor(timers: Pick<Timers, 'soon'>, stallMs = STALL_MS, unsentMax = UNSENT_BYTES_MAX) {
    this.timers = timers;
    this.stallMs = stallMs;
    this.unsentMax = unsentMax;
    const line = (kind: ReadKind): Line => ({ max: AT_A_TIME[kind], busy: 0, waiting: [] });
    this.lines = {
      list: line('list'),
      history: line('history'),
      payload: line('payload'),
      slice: line('slice'),
      past: line('past'),
    };
  }

  /** Null for an operation that takes no turns. */
  static kindOf(operation: Operation): ReadKind | null {
    const long = lengthOf(operation);
    return long === 'record' ? null : long;
  }

  /** Whether it reads one record. */
  static isRecord(operation: Operation): boolean {
    return lengthOf(operation) === 'record';
  }

  /** Runs a job when its turn comes. By the time it is done, its answer must have been counted as unsent. */
  async inTurn<T>(kind: ReadKind, job: () => Promise<T>): Promise<T> {
    const line = this.lines[kind];
    await this.enter(line);
    try {
      return await job();
    } finally {
      this.leave(line);
    }
  }

  /** `isGone` is called when the turn comes. */
  largeRead(isGone: () => boolean): LargeRead {
    return new LargeRead(this.enterPayloads, this.leavePayloads, isGone);
  }

  private readonly enterPayloads = (): Promise<void> => this.enter(this.lines.payload);
  private readonly leavePayloads = (): void => this.leave(this.lines.payload);

  /** Counts bytes as unsent until the response drains, finishes or closes. */
  sending(receiver: Receiver, bytes: number): void {
    this.unsentBytes += bytes;
    this.receivers.set(receiver, false);
    receiver.setTimeout(this.stallMs);
    const sent = (): void => {
      receiver.off('drain', sent);
      receiver.off('finish', sent);
      receiver.off('close', sent);
      this.unsentBytes -= bytes;
      this.receivers.delete(receiver);
      // The timeout belongs to the connection: a long poll behind this answer may be silent for longer.
      if (!receiver.destroyed) receiver.setTimeout(0);
      for (const line of Object.values(this.lines)) this.admit(line);
    };
    receiver.on('drain', sent);
    receiver.on('close', sent);
    // Runs before Node starts the next request of the connection.
    receiver.prependListener('finish', sent);
  }

  private enter(line: Line): Promise<void> {
    return new Promise((go) => {
      line.waiting.push(go);
      this.admit(line);
      if (this.unsentBytes >= this.unsentMax) this.press();
    });
  }

  /** Applies the shorter limit once per receiver: setting a timeout restarts it. */
  private press(): void {
    const limitMs = Math.min(this.stallMs, PRESSED_STALL_MS);
    for (const [receiver, isPressed] of this.receivers) {
      if (isPressed) continue;
      this.receivers.set(receiver, true);
      receiver.setTimeout(limitMs);
    }
  }

  private leave(line: Line): void {
    this.timers.soon(() => {
      line.busy -= 1;
      this.admit(line);
    });
  }

  private admit(line: Line): void {
    while (line.busy < line.max && this.unsentBytes < this.unsentMax && line.waiting.length > 0) {
      line.busy += 1;
      line.waiting.shift()!();
    }
  }
}

/** What the definition says about the length of its answer; null for answers that are always short. */
function lengthOf(operation: Operation): 'history' | 'list' | 'record' | null {
  const definition = operationOf(operation);
  return ('long' in definition ? definition.long : null) ?? null;
}
