/**
 * Instants on the wire: ISO 8601 UTC with milliseconds. The newest few are cached: the replies of one batch mostly contain
 * the time of the batch and one or two expiries, and formatting one costs as much as the rest of a reply.
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

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/;

/** An instant of a request, with a time zone, in milliseconds; NaN for anything else. */
export function instantMs(text: string): number {
  const [, year, month, day] = INSTANT.exec(text) ?? [];
  if (day === undefined) return Number.NaN;
  // Date.parse takes the 30th of February for the 2nd of March.
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) <= daysOfMonth ? Date.parse(text) : Number.NaN;
}
