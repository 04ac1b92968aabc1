/** The world failed under the authority; whether a call took effect is unknown. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
  readonly code = 'UNAVAILABLE';
}

/** It was closed in order: whatever had been decided is durable and answered, and nothing else took effect. */
export class ClosedError extends UnavailableError {}
