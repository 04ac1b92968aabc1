/**
 * Calls that wait: long polls for tasks, leases and ends. Each ends when its connection does, so that nothing is
 * granted to a client that is gone, and all of them end when the server stops. A connection that the client has half
 * closed looks like one whose client has died, so it ends the wait as well; the client is told. So does a reload that
 * drops the token of the call.
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
    super(
      'The wait has ended: more requests were sent behind it than are read ahead, or the connection was half closed.',
    );
  }
}
export class RevokedError extends Error {
  override readonly name = 'RevokedError';

  constructor() {
    super('The token was dropped, or lost a scope, while the call waited.');
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
   * A signal for one waiting call, and the call that says it has been answered. With its connection given, the wait
   * also ends when we could no longer tell whether the client is there.
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

  /** From now on no call waits. */
  stop(): void {
    this.isStopping = true;
    for (const controller of this.open) controller.abort(new StoppingError());
  }
}
