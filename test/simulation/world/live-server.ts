/**
 * The server's side of live connections without its sockets: the product's own connection, on as much of a WebSocket as it
 * uses. What is sent is taken at once: slow readers are simulated by the network.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { CLOSES } from '../../../src/protocol/live-frames.ts';
import type { Timer, Timers } from '../../../src/seams/clock.ts';
import { LiveConnection, type LiveContext } from '../../../src/server/live-connection.ts';
import { LOCAL_CALLER } from '../../../src/server/scopes.ts';

/** As in `src/server/live-connections.ts`. */
const PING_MS = 20_000;
const BROKEN = 1006;

/** Receives what the server sends. */
export interface LiveSink {
  frame(text: string): void;
  ping(): void;
  /** The server has closed the connection. */
  closed(code: number): void;
}

export class SimLiveEnd extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  readonly bufferedAmount = 0;
  readonly socket = Object.assign(new EventEmitter(), {
    writable: true,
    readableEnded: false,
    destroyed: false,
    setTimeout: () => undefined,
  });
  readonly #sink: LiveSink;

  constructor(sink: LiveSink) {
    super();
    this.#sink = sink;
  }

  send(frame: string | Buffer, ...rest: readonly unknown[]): void {
    this.#sink.frame(String(frame));
    queueMicrotask(rest.at(-1) as () => void);
  }

  ping(): void {
    this.#sink.ping();
  }

  pause(): void {}

  resume(): void {}

  close(code: number): void {
    if (this.readyState !== this.OPEN) return;
    this.gone();
    this.#sink.closed(code);
  }

  terminate(): void {
    this.close(BROKEN);
  }

  /** The other side has closed it, or is known to be gone. */
  gone(): void {
    if (this.readyState !== this.OPEN) return;
    this.readyState = 3;
    this.socket.writable = false;
    this.socket.destroyed = true;
    this.emit('close');
  }
}

export class LiveServer {
  readonly #context: LiveContext;
  readonly #timers: Timers;
  readonly #open = new Set<LiveConnection>();
  #pinging: Timer | null = null;
  #accepted = 0;

  constructor(context: LiveContext, timers: Timers) {
    this.#context = context;
    this.#timers = timers;
  }

  accept(sink: LiveSink): SimLiveEnd {
    const end = new SimLiveEnd(sink);
    const { socket } = end;
    const connection = new LiveConnection(
      this.#context,
      end as unknown as WebSocket,
      socket as unknown as Socket,
      LOCAL_CALLER,
      `live-${++this.#accepted}`,
    );
    this.#open.add(connection);
    end.on('close', () => {
      this.#open.delete(connection);
      connection.closed();
    });
    if (this.#pinging === null) this.#ping();
    return end;
  }

  #ping(): void {
    this.#pinging = this.#timers.after(PING_MS, () => {
      for (const connection of this.#open) if (!connection.ping()) connection.terminate();
      this.#ping();
    });
  }

  /** Ends waits, lets what is in flight be answered, and says goodbye. */
  stop(): void {
    for (const connection of this.#open) {
      void connection.stop().then(() => connection.close(CLOSES.goingAway, 'The server is stopping.'));
    }
  }
}
