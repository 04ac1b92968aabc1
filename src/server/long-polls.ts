/**
 * Long polls: calls that wait for tasks, leases or the end of a task. A wait ends when its connection closes, so that
 * nothing is granted to a client that is gone, when the server stops, and when a reload drops the token of the call. It
 * also ends, with an answer, when the client half-closes its connection: that looks the same as a client that died.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Revocation } from './scopes.ts';

/** Why a wait was ended. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
}
export class UnwatchedError extends Error {
  override readonly name = 'UnwatchedError';

  constructor() {
    super('The wait has ended: the client sent too many requests behind it, or half-closed the connection.');
  }
}
export class RevokedError extends Error {
  override readonly name = 'RevokedError';

  constructor() {
    super('The token was removed from the list, or lost a scope, while the call waited.');
  }
}
export class StoppingError extends Error {
  override readonly name = 'StoppingError';

  constructor() {
    super('The server is stopping.');
  }
}

export class LongPolls {
  private readonly open = new Set<AbortController>();
  private isStopping = false;

  get size(): number {
    return this.open.size;
  }

  /**
   * Returns a signal for one waiting call, and `end`, to call once it is answered. With `connection` given, the wait also
   * ends when the server can no longer tell whether the client is there.
   */
  begin(
    response: ServerResponse,
    connection: Socket | null = null,
    revocation: Revocation | null = null,
  ): { readonly signal: AbortSignal; readonly end: () => void } {
    const controller = new AbortController();
    const gone = (): void => controller.abort(new GoneError('The connection was closed.'));
    const unwatched = (): void => controller.abort(new UnwatchedError());
    response.once('close', gone);
    connection?.once('end', unwatched).once('pause', unwatched);
    const forget = revocation?.onRevoked(() => controller.abort(new RevokedError()));
    this.open.add(controller);
    if (this.isStopping) controller.abort(new StoppingError());
    else if (response.destroyed) gone();
    else if (connection !== null && (connection.readableEnded || connection.isPaused())) unwatched();
    return {
      signal: controller.signal,
      end: () => {
        response.off('close', gone);
        connection?.off('end', unwatched).off('pause', unwatched);
        forget?.();
        this.open.delete(controller);
      },
    };
  }

  /** Ends all waits; later ones end at once. */
  stop(): void {
    this.isStopping = true;
    for (const controller of this.open) controller.abort(new StoppingError());
  }
}
