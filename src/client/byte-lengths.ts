/** How long a text is in UTF-8, compared with a limit. */
const encoder = new TextEncoder();

/** Characters beyond ASCII have up to three bytes each, so most texts need not be counted. */
export function isWithinBytes(text: string, bytesMax: number): boolean {
  if (text.length > bytesMax) return false;
  return 3 * text.length <= bytesMax || encoder.encode(text).length <= bytesMax;
}
