/** A long frame of a live connection, counted among the long answers of the server until the kernel has it. */
import type { Receiver } from './long-reads.ts';

export class UnsentFrame implements Receiver {
  readonly setTimeout: (ms: number) => void;
  private readonly socket: { readonly destroyed: boolean };
  private readonly calls = new Set<() => void>();

  /** `limit` sets how long the peer may read nothing; 0: no limit. */
  constructor(socket: { readonly destroyed: boolean }, limit: (ms: number) => void) {
    this.socket = socket;
    this.setTimeout = limit;
  }

  get destroyed(): boolean {
    return this.socket.destroyed;
  }

  on(_event: 'drain' | 'close', call: () => void): void {
    this.calls.add(call);
  }

  prependListener(_event: 'finish', call: () => void): void {
    this.calls.add(call);
  }

  off(_event: 'drain' | 'close' | 'finish', call: () => void): void {
    this.calls.delete(call);
  }

  /** Called when the kernel has taken it, or the connection is closed. */
  sent(): void {
    for (const call of [...this.calls]) call();
  }
}
