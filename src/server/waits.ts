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
}

export class Waits {
  private readonly open = new Set<AbortController>();
  private isStopping = false;

  get size(): number {
    return this.open.size;
  }

  /** A signal for one waiting call, and the call that says it has been answered. */
  begin(response: ServerResponse): { readonly signal: AbortSignal; readonly end: () => void } {
    const controller = new AbortController();
    const gone = (): void => controller.abort(new GoneError('The connection was closed.'));
    response.once('close', gone);
    this.open.add(controller);
    if (this.isStopping) controller.abort(new StoppingError('The server is stopping.'));
    else if (response.destroyed) gone();
    return {
      signal: controller.signal,
      end: () => {
        response.off('close', gone);
        this.open.delete(controller);
      },
    };
  }

  /** From now on nobody waits. */
  stop(): void {
    this.isStopping = true;
    for (const controller of this.open) controller.abort(new StoppingError('The server is stopping.'));
  }
}
