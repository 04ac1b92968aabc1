/** Compares the UTF-8 length of a text with a limit. */
const encoder = new TextEncoder();

/** A UTF-16 unit takes at most three bytes, so most texts need not be encoded. */
export function isWithinBytes(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return false;
  return 3 * text.length <= bytesMax || encoder.encode(text).length <= bytesMax;
}
