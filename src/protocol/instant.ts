/**
 * Instants on the wire: ISO 8601 UTC with milliseconds. The newest few are kept, because the replies of one batch mostly
 * speak of its own time and of one or two ends of leases, and each costs as much as the rest of its reply.
 */
const KEPT = 4;
const keptMs = new Array<number>(KEPT).fill(Number.NaN);
const keptTexts = new Array<string>(KEPT).fill('');
let oldest = 0;

export function instant(ms: number): string {
  for (let index = 0; index < KEPT; index++) if (keptMs[index] === ms) return keptTexts[index]!;
  const text = new Date(ms).toISOString();
  keptMs[oldest] = ms;
  keptTexts[oldest] = text;
  oldest = (oldest + 1) % KEPT;
  return text;
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;

/** An instant of a request in milliseconds, which names its time zone; NaN for anything else. */
export function instantMs(text: string): number {
  return INSTANT.test(text) ? Date.parse(text) : Number.NaN;
}
