/**
 * Live connections over the simulated network, under the client's Sockets seam. Each way is a stream: frames come in order and
 * once. What a partition swallows never comes, and nothing behind it does: to both ends that connection is silent until
 * one of them gives it up. A frame that is lost comes late, or the connection breaks.
 */
import type { LiveSocket, SocketEvents, SocketRequest, Sockets } from '../../../src/seams/sockets.ts';
import type { Kernel } from './kernel.ts';
import { LiveCalls } from './live-calls.ts';
import type { LiveSink, SimLiveEnd } from './live-server.ts';
import type { Random } from './random.ts';
import type { Recorder } from './recorder.ts';
import type { Link, Listener } from './sim-network.ts';
import type { SimProcess } from './sim-process.ts';

/** What live connections share with the rest of the network. */
export interface Wires {
  readonly listener: Listener | null;
  readonly isDark: boolean;
  link(client: string): Link;
}

const HANDSHAKE_MS = 5_000;
const BROKEN = 1006;

export class SimSockets {
  readonly #kernel: Kernel;
  readonly #random: Random;
  readonly #recorder: Recorder;
  readonly #wires: Wires;
  readonly #open = new Set<SimSocket>();

  constructor(kernel: Kernel, random: Random, recorder: Recorder, wires: Wires) {
    this.#kernel = kernel;
    this.#random = random;
    this.#recorder = recorder;
    this.#wires = wires;
  }

  for(client: SimProcess): Sockets {
    return {
      showsToken: true,
      open: (request, events) => {
        const socket = new SimSocket(
          this.#kernel,
          this.#random,
          this.#recorder,
          this.#wires,
          client,
          request,
          events,
          () => this.#open.delete(socket),
        );
        this.#open.add(socket);
        return socket;
      },
    };
  }

  /** A process that ended while its machine lives: every connection to it is reset. */
  resetFrom(cause: string): void {
    for (const socket of [...this.#open]) socket.resetByServer(cause);
  }

  /** Both ends of the connections of a client see them break, or the client alone. */
  break(client: string, isHalf: boolean): void {
    for (const socket of [...this.#open]) if (socket.client.name === client) socket.break(isHalf);
  }

  clientDied(client: SimProcess): void {
    for (const socket of [...this.#open]) if (socket.client === client) socket.die();
  }
}

class SimSocket implements LiveSocket {
  readonly client: SimProcess;
  readonly #kernel: Kernel;
  readonly #random: Random;
  readonly #wires: Wires;
  readonly #request: SocketRequest;
  readonly #events: SocketEvents;
  readonly #calls: LiveCalls;
  readonly #forget: () => void;
  #isOpen = false;
  #isOver = false;
  #server: { readonly process: SimProcess; readonly end: SimLiveEnd } | null = null;
  /** When the last of what was sent arrives, each way, and whether nothing does any more. */
  readonly #toServer = { lastMs: 0, isStalled: false };
  readonly #toClient = { lastMs: 0, isStalled: false };

  constructor(
    kernel: Kernel,
    random: Random,
    recorder: Recorder,
    wires: Wires,
    client: SimProcess,
    request: SocketRequest,
    events: SocketEvents,
    forget: () => void,
  ) {
    this.#kernel = kernel;
    this.#random = random;
    this.#wires = wires;
    this.client = client;
    this.#request = request;
    this.#events = events;
    this.#calls = new LiveCalls(recorder, client.name);
    this.#forget = forget;
    client.timers.after(HANDSHAKE_MS, () => {
      if (!this.#isOpen) this.#end('unreachable', 'did not answer the handshake', BROKEN);
    });
    this.#up(() => this.#knock());
  }

  send(frame: string): void {
    if (this.#isOver) return;
    const arrived = this.#calls.left(frame);
    this.#up(() => {
      const server = this.#server!;
      // The machine of a process that is gone says so as soon as it is up again.
      if (server.process.isDead) {
        if (!this.#wires.isDark) this.resetByServer('No process has this connection');
        return;
      }
      this.#atServer(() => {
        if (server.end.readyState !== server.end.OPEN) return;
        arrived();
        server.end.emit('message', Buffer.from(frame), false);
      });
    });
  }

  drop(): void {
    if (this.#isOver) return;
    this.#over('The client closed the connection.');
    this.#closeAtServer();
  }

  hold(): void {}

  resetByServer(cause: string): void {
    if (this.#server !== null) this.#reset(cause);
  }

  break(isHalf: boolean): void {
    if (!isHalf) this.#closeAtServer();
    this.#reset('The connection broke');
  }

  /** The client's process ended; its machine closes the connection. */
  die(): void {
    this.#over('The client died.');
    this.#closeAtServer();
  }

  #knock(): void {
    const { isDark, listener } = this.#wires;
    if (isDark || this.#isOver) return;
    if (listener === null) return this.#down(() => this.#end('unreachable', 'is not there', BROKEN));
    const { process, server } = listener;
    this.#kernel.after(0, process, () => {
      const sink: LiveSink = {
        frame: (text) => this.#frame(text),
        ping: () => this.#down(() => this.#up(() => this.#atServer(() => this.#server?.end.emit('pong')))),
        closed: (code) => this.#down(() => this.#end('closed', 'closed the connection', code)),
      };
      this.#down(() => {
        if (this.#isOver) return;
        this.#isOpen = true;
        this.#events.opened();
      });
      const end = server.live.accept(whileAlive(process, sink));
      this.#server = { process, end };
      if (this.#isOver) this.#closeAtServer();
    });
  }

  #frame(text: string): void {
    const link = this.#wires.link(this.client.name);
    if (this.#random.chance(link.resetChance)) return this.break(false);
    this.#down(() => {
      if (this.#isOver) return;
      this.#calls.answered(text);
      this.#events.message(text);
    });
  }

  /** Towards the server. */
  #up(call: () => void): void {
    const link = this.#wires.link(this.client.name);
    this.#carry(this.#toServer, link, () => link.cutToServerMs, call);
  }

  /** Towards the client, which takes it when it runs. */
  #down(call: () => void): void {
    const link = this.#wires.link(this.client.name);
    this.#carry(
      this.#toClient,
      link,
      () => link.cutToClientMs,
      () => this.#kernel.after(0, this.client, call),
    );
  }

  #carry(
    way: { lastMs: number; isStalled: boolean },
    link: Link,
    cutMs: () => number,
    call: () => void,
  ): void {
    let delayMs = this.#random.span(0.1, 1.5) + link.delayMs;
    if (link.jitterMs > 0) delayMs += this.#random.span(0, link.jitterMs);
    if (this.#random.chance(link.lossChance)) {
      // What is lost is sent again by the machine, or in the end given up.
      delayMs += this.#random.span(200, 3_000);
      if (this.#random.chance(0.3)) this.#kernel.after(delayMs, null, () => this.break(false));
    }
    way.lastMs = Math.max(way.lastMs, this.#kernel.nowMs + delayMs);
    this.#kernel.at(way.lastMs, null, () => {
      way.isStalled ||= cutMs() > this.#kernel.nowMs;
      if (!way.isStalled) call();
    });
  }

  #atServer(call: () => void): void {
    const server = this.#server;
    if (server !== null) this.#kernel.after(0, server.process, call);
  }

  #reset(cause: string): void {
    const link = this.#wires.link(this.client.name);
    this.#kernel.after(this.#random.span(0.1, 1.5) + link.delayMs, null, () => {
      if (link.cutToClientMs > this.#kernel.nowMs) return;
      this.#kernel.after(0, this.client, () =>
        this.#end(this.#isOpen ? 'closed' : 'unreachable', cause, BROKEN),
      );
    });
  }

  #closeAtServer(): void {
    const link = this.#wires.link(this.client.name);
    this.#kernel.after(this.#random.span(0.1, 1.5) + link.delayMs, null, () => {
      if (link.cutToServerMs > this.#kernel.nowMs) return;
      this.#atServer(() => this.#server?.end.gone());
    });
  }

  #end(why: 'unreachable' | 'closed', cause: string, code: number): void {
    if (this.#isOver) return;
    this.#over(cause);
    this.#events.ended({ why, says: `${this.#request.server}: ${cause}.`, code });
  }

  #over(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#forget();
    this.#calls.ended(why);
  }
}

/** What a process says when it is dead is not said. */
function whileAlive(process: SimProcess, sink: LiveSink): LiveSink {
  const say = (call: () => void): void => {
    if (!process.isDead) call();
  };
  return {
    frame: (text) => say(() => sink.frame(text)),
    ping: () => say(() => sink.ping()),
    closed: (code) => say(() => sink.closed(code)),
  };
}
