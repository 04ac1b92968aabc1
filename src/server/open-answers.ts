/**
 * The answers still owed on each connection. Node tells only the answer whose turn it is that its connection has
 * closed; those behind it in a pipeline would never hear of it, and whoever waits for them would wait for ever.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export class OpenAnswers {
  private readonly owed = new WeakMap<Socket, Set<ServerResponse>>();

  /** Calls once when the answer has left or nobody is there to take it. */
  began(socket: Socket, response: ServerResponse, left: () => void): void {
    const owed = this.owedOn(socket);
    owed.add(response);
    response.once('close', () => {
      owed.delete(response);
      left();
    });
  }

  /**
   * The last answer to a request that has come whole. Answers leave in the order of their requests: once this one
   * has left, no other is owed.
   */
  last(socket: Socket): ServerResponse | undefined {
    return [...(this.owed.get(socket) ?? [])].findLast(({ req }) => req.complete);
  }

  private owedOn(socket: Socket): Set<ServerResponse> {
    const known = this.owed.get(socket);
    if (known !== undefined) return known;
    const owed = new Set<ServerResponse>();
    this.owed.set(socket, owed);
    socket.once('close', () => {
      for (const response of owed) if (response.socket === null) tellClosed(response);
    });
    return owed;
  }
}

function tellClosed(response: ServerResponse): void {
  response.destroy();
  response.emit('close');
}
