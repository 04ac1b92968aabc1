/** A read was refused because the queue is full. It is thrown, because the type of a read has no place for a refusal. */
import type { Refusal } from '../core/refusals.ts';

export class RefusedReadError extends Error {
  override readonly name = 'RefusedReadError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super('The read was refused.');
    this.refusal = refusal;
  }
}
