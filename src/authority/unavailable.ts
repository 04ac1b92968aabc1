/** A fault has ended the authority. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError';
  readonly code = 'UNAVAILABLE';
  /** Whether the call took effect: unknown, unless it was made after the end. */
  readonly effect: 'none' | 'unknown';

  constructor(
    message: string,
    { cause, effect = 'unknown' }: ErrorOptions & { effect?: 'none' | 'unknown' } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.effect = effect;
  }

  /** The error that later callers get. */
  afterwards(): UnavailableError {
    return new UnavailableError(this.message, { cause: this.cause ?? this, effect: 'none' });
  }
}

/** The authority was closed: all decided calls are durable and answered, and no other call took effect. */
export class ClosedError extends UnavailableError {
  override afterwards(): ClosedError {
    return this;
  }
}
