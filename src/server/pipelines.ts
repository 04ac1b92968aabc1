/**
 * Handles one request of a connection at a time. Node starts every pipelined request at once; a client that sends
 * thousands in one packet and reads nothing would fill our memory with replies. Here the next request of a connection
 * begins only when the previous reply has been handed to the kernel.
 *
 *   request ─┬─ no reply owed on its connection ─► handle ─► reply sent ─► the next one that is held
 *            └─ a reply is owed ─► held; beyond READ_AHEAD nothing more is read from the connection
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Timers } from '../seams/clock.ts';

/**
 * How many requests of a connection may be held while reading continues; only reading notices that a connection ends. The
 * parser cannot be stopped inside the 64 KiB it was given, so a few thousand tiny requests may be held all the same.
 */
const READ_AHEAD = 32;
/** The limit of all connections together; a held request takes about 3 KB. A connection that exceeds it is cut. */
const HELD_MAX = 40_000;

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

interface Held {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Pipeline {
  current: ServerResponse | null;
  held: Held[];
}

export class Pipelines {
  private readonly byConnection = new WeakMap<Socket, Pipeline>();
  private readonly timers: Pick<Timers, 'soon'>;
  private readonly handle: Handle;
  private readonly heldMax: number;
  private heldCount = 0;

  constructor(timers: Pick<Timers, 'soon'>, handle: Handle, heldMax = HELD_MAX) {
    this.timers = timers;
    this.handle = handle;
    this.heldMax = heldMax;
  }

  /** Handles a request as soon as every earlier one of its connection has been answered. */
  readonly take: Handle = (request, response) => {
    const { socket } = request;
    const pipeline = this.byConnection.get(socket) ?? this.begin(socket);
    if (pipeline.current === null) this.start(socket, pipeline, { request, response });
    else this.hold(socket, pipeline, { request, response });
  };

  /** The reply to the last request that has arrived whole: once it is sent, none is owed. */
  lastOwed(socket: Socket): ServerResponse | undefined {
    const { current = null, held = [] } = this.byConnection.get(socket) ?? {};
    const owed = [...(current === null ? [] : [current]), ...held.map(({ response }) => response)];
    return owed.findLast(({ req }) => req.complete);
  }

  /** Whether we have stopped reading from it, so that an incomplete request is not its client's fault. */
  isFull(socket: Socket): boolean {
    return (this.byConnection.get(socket)?.held.length ?? 0) > READ_AHEAD;
  }

  private begin(socket: Socket): Pipeline {
    const pipeline: Pipeline = { current: null, held: [] };
    this.byConnection.set(socket, pipeline);
    socket.once('close', () => {
      this.heldCount -= pipeline.held.length;
      pipeline.held = [];
    });
    return pipeline;
  }

  private start(socket: Socket, pipeline: Pipeline, { request, response }: Held): void {
    pipeline.current = response;
    response.once('close', () => {
      // `current` stays set until the next one begins: requests that arrive meanwhile queue behind the held ones.
      if (pipeline.held.length > 0) this.timers.soon(() => this.next(socket, pipeline));
      else pipeline.current = null;
    });
    this.handle(request, response);
  }

  private next(socket: Socket, pipeline: Pipeline): void {
    const held = pipeline.held.shift();
    // The connection was closed.
    if (held === undefined) return;
    this.heldCount -= 1;
    if (pipeline.held.length === READ_AHEAD) {
      socket.off('resume', stopReading);
      socket.resume();
    }
    this.start(socket, pipeline, held);
  }

  private hold(socket: Socket, pipeline: Pipeline, held: Held): void {
    if (socket.destroyed) return;
    if (this.heldCount >= this.heldMax) {
      socket.destroy();
      return;
    }
    this.heldCount += 1;
    pipeline.held.push(held);
    if (pipeline.held.length !== READ_AHEAD + 1) return;
    // Node resumes a connection whenever a request has been parsed or answered.
    socket.on('resume', stopReading);
    socket.pause();
  }
}

function stopReading(this: Socket): void {
  this.pause();
}
