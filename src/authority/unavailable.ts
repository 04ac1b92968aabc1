/** The world failed under the authority; whether a call took effect is unknown. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
  readonly code = 'UNAVAILABLE';
}
