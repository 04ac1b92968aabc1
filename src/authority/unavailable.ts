/** The world failed under the authority. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError';
  readonly code = 'UNAVAILABLE';
  /** Whether the call took effect: unknown, unless it came after the end. */
  readonly effect: 'none' | 'unknown';

  constructor(
    message: string,
    { cause, effect = 'unknown' }: ErrorOptions & { effect?: 'none' | 'unknown' } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.effect = effect;
  }

  /** What later callers are told. */
  afterwards(): UnavailableError {
    return new UnavailableError(this.message, { cause: this.cause ?? this, effect: 'none' });
  }
}

/** It was closed in order: whatever had been decided is durable and answered, and nothing else took effect. */
export class ClosedError extends UnavailableError {
  override afterwards(): ClosedError {
    return this;
  }
}
