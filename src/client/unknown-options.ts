/** Refuses unknown options: a misspelt one would otherwise be ignored silently. */
export function refuseUnknown(options: object, known: readonly string[], what: string): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`The options of ${what} must be an object.`);
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new TypeError(`The option ${name} of ${what} is not known; known are ${known.join(', ')}.`);
    }
  }
}
