/** A read was refused because too much waits. It is thrown, because a read has no answer that could say so. */
import type { Refusal } from '../core/refusals.ts';

export class RefusedReadError extends Error {
  override readonly name = 'RefusedReadError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super('The read was refused.');
    this.refusal = refusal;
  }
}
