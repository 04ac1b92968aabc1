/**
 * The outgoing side of a live connection. Items that are ready in the same turn are sent together, in frames of a few
 * kilobytes. Backpressure: while a megabyte is unsent the peer is not read from, and a peer that reads nothing for too
 * long meanwhile is cut by its socket's timeout.
 *
 *   push ─► items ─► flush ─► frame ─► unsent ─┬─ less than the limit ─► sent
 *                                              └─ more: paused ─► sent ─► resumed
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { LiveContext } from './live-connection.ts';
import { UnsentFrame } from './unsent-frame.ts';

/** Above this many unsent bytes the outbox is full. */
const UNSENT_MAX = 1024 * 1024;
/** A frame is sent once it is this long, so that the client can work on the first answers while the rest are written. */
const FRAME_LENGTH = 4 * 1024;
/** A longer frame counts among the long answers of the server. */
const LONG_FRAME = 16 * 1024;

/** The callbacks to the connection. */
export interface OutboxOwner {
  readonly isGone: () => boolean;
  /** Called when the peer is read from again. */
  readonly resumed: () => void;
  /** Called when bytes were sent and there is room. */
  readonly sent: () => void;
}

export class LiveOutbox {
  isPaused = false;
  private readonly context: Pick<LiveContext, 'service' | 'longReads' | 'stallMs'>;
  private readonly ws: WebSocket;
  private readonly socket: Socket;
  private readonly owner: OutboxOwner;
  private items: string[] = [];
  private itemsLength = 0;
  private isFlushDue = false;

  constructor(
    context: Pick<LiveContext, 'service' | 'longReads' | 'stallMs'>,
    ws: WebSocket,
    socket: Socket,
    owner: OutboxOwner,
  ) {
    this.context = context;
    this.ws = ws;
    this.socket = socket;
    this.owner = owner;
  }

  get unsent(): number {
    return this.ws.bufferedAmount + this.itemsLength;
  }

  get isFull(): boolean {
    return this.unsent >= UNSENT_MAX;
  }

  push(item: string): void {
    if (this.owner.isGone()) return;
    this.items.push(item);
    this.itemsLength += item.length;
    if (this.itemsLength > FRAME_LENGTH) this.flush();
    else if (!this.isFlushDue) {
      this.isFlushDue = true;
      queueMicrotask(this.flushDue);
    }
  }

  private readonly flushDue = (): void => {
    this.isFlushDue = false;
    if (this.items.length > 0) this.flush();
  };

  /** Sends what is ready; a frame without items carries the time only. */
  flush(): void {
    const { items, ws } = this;
    const now = this.context.service.now();
    const head = now === null ? '[null,null' : `[${now.atMs},${now.epoch}`;
    const frame = items.length === 0 ? `${head}]` : `${head},${items.join()}]`;
    this.items = [];
    this.itemsLength = 0;
    if (this.owner.isGone()) return;
    if (frame.length <= LONG_FRAME) ws.send(frame, this.sent);
    else {
      const bytes = Buffer.from(frame);
      const unsent = new UnsentFrame(this.socket, this.limit);
      this.context.longReads.sending(unsent, bytes.length);
      ws.send(bytes, { binary: false }, () => {
        unsent.sent();
        this.sent();
      });
    }
    if (!this.isPaused && ws.bufferedAmount >= UNSENT_MAX) this.pause();
  }

  /** Closes after what is ready. The peer's close frame must be read too, or the connection ends half a minute later. */
  close(code: number, reason: string): void {
    this.flushDue();
    this.ws.close(code, reason);
    if (this.isPaused) this.ws.resume();
  }

  private pause(): void {
    this.isPaused = true;
    this.ws.pause();
    this.limit(0);
  }

  /** Sets how long the peer may read nothing. While paused there is always a limit. */
  private readonly limit = (ms: number): void => {
    this.socket.setTimeout(ms === 0 && this.isPaused ? this.context.stallMs : ms);
  };

  private readonly sent = (): void => {
    const { ws, owner } = this;
    if (ws.bufferedAmount >= UNSENT_MAX) return;
    if (this.isPaused && !owner.isGone()) {
      this.isPaused = false;
      this.limit(0);
      owner.resumed();
      ws.resume();
    }
    owner.sent();
  };
}
