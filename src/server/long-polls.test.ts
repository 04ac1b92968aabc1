// Calls that wait: each ends with its connection, and all of them with the server.
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { GoneError, LongPolls, StoppingError, UnwatchedError } from './long-polls.ts';

class Connection extends EventEmitter {
  destroyed = false;

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }

  get response(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

class TestSocket extends EventEmitter {
  readonly readableEnded: boolean;
  readonly isPaused: () => boolean;

  constructor(readableEnded = false, isPaused = false) {
    super();
    this.readableEnded = readableEnded;
    this.isPaused = () => isPaused;
  }

  get socket(): Socket {
    return this as unknown as Socket;
  }
}

describe('a wait', () => {
  it('continues while its connection is open', () => {
    const waits = new LongPolls();
    const { signal } = waits.begin(new Connection().response);
    expect(signal.aborted).toBe(false);
    expect(waits.size).toBe(1);
  });

  it('ends with its connection, and no other ends with it', () => {
    const waits = new LongPolls();
    const mine = new Connection();
    const { signal } = waits.begin(mine.response);
    const other = waits.begin(new Connection().response);
    mine.close();
    expect(signal.reason).toBeInstanceOf(GoneError);
    expect(other.signal.aborted).toBe(false);
  });

  it('does not begin on a connection that has closed', () => {
    const gone = new Connection();
    gone.close();
    expect(new LongPolls().begin(gone.response).signal.reason).toBeInstanceOf(GoneError);
  });

  it.each(['end', 'pause'])('ends with the %s of what can be read from its connection', (event) => {
    const waits = new LongPolls();
    const socket = new TestSocket();
    const { signal } = waits.begin(new Connection().response, socket.socket);
    const over = waits.begin(new Connection().response, socket.socket);
    over.end();
    expect(signal.aborted).toBe(false);
    socket.emit(event);
    expect(signal.reason).toBeInstanceOf(UnwatchedError);
    expect(over.signal.aborted).toBe(false);
  });

  it('does not begin on a connection from which nothing can be read', () => {
    for (const socket of [new TestSocket(true, false), new TestSocket(false, true)]) {
      const { signal } = new LongPolls().begin(new Connection().response, socket.socket);
      expect(signal.reason).toBeInstanceOf(UnwatchedError);
    }
  });

  it('is forgotten once it has been answered', () => {
    const waits = new LongPolls();
    const connection = new Connection();
    const { signal, end } = waits.begin(connection.response);
    end();
    expect(waits.size).toBe(0);
    expect(connection.listenerCount('close')).toBe(0);
    connection.close();
    waits.stop();
    expect(signal.aborted).toBe(false);
  });

  it('ends when the server stops', () => {
    const waits = new LongPolls();
    const signals = [1, 2, 3].map(() => waits.begin(new Connection().response).signal);
    waits.stop();
    for (const { reason } of signals) {
      expect(reason).toBeInstanceOf(StoppingError);
      expect((reason as Error).message).toBe('The server is stopping.');
    }
  });

  it('does not begin once the server is stopping', () => {
    const waits = new LongPolls();
    waits.stop();
    expect(waits.begin(new Connection().response).signal.reason).toBeInstanceOf(StoppingError);
  });
});
