/**
 * Calls that wait: long polls for tasks, leases and ends. Each ends when its connection does, so that nobody
 * is granted anything who is not there any more, and all of them end when the server stops.
 */
import type { ServerResponse } from 'node:http';

/** Why a wait was ended. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
}
export class StoppingError extends Error {
  override readonly name = 'StoppingError';

  constructor() {
    super('The server is stopping.');
  }
}

/**
 * Answers leave in the order of their requests, so who waits behind another on one connection hardly means to. Without
 * a bound one connection could have as many as it sends requests, and all of them would end at once with it.
 */
const WAITS_A_CONNECTION = 32;

export class Waits {
  private readonly open = new Set<AbortController>();
  private readonly byConnection = new WeakMap<object, number>();
  private isStopping = false;

  get size(): number {
    return this.open.size;
  }

  /** Whether one more call may wait on a connection. */
  hasRoomOn(connection: object): boolean {
    return this.waitingOn(connection) < WAITS_A_CONNECTION;
  }

  private waitingOn(connection: object): number {
    return this.byConnection.get(connection) ?? 0;
  }

  /** A signal for one waiting call, and the call that says it has been answered. */
  begin(
    response: ServerResponse,
    connection: object = response,
  ): { readonly signal: AbortSignal; readonly end: () => void } {
    this.byConnection.set(connection, this.waitingOn(connection) + 1);
    const controller = new AbortController();
    const gone = (): void => controller.abort(new GoneError('The connection was closed.'));
    response.once('close', gone);
    this.open.add(controller);
    if (this.isStopping) controller.abort(new StoppingError());
    else if (response.destroyed) gone();
    return {
      signal: controller.signal,
      end: () => {
        response.off('close', gone);
        this.open.delete(controller);
        this.byConnection.set(connection, this.waitingOn(connection) - 1);
      },
    };
  }

  /** From now on nobody waits. */
  stop(): void {
    this.isStopping = true;
    for (const controller of this.open) controller.abort(new StoppingError());
  }
}
