/**
 * Instants on the wire: ISO 8601 UTC with milliseconds. Computed here, because it is on the hot path and
 * most neighbours share an instant.
 */
const DAY_MS = 86_400_000;

/** The newest few: a batch mostly speaks of its own time and of one or two ends of leases. */
const KEPT = 4;
const keptMs = new Array<number>(KEPT).fill(Number.NaN);
const keptTexts = new Array<string>(KEPT).fill('');
let oldest = 0;

export function instant(ms: number): string {
  for (let index = 0; index < KEPT; index++) if (keptMs[index] === ms) return keptTexts[index]!;
  const text = render(ms);
  keptMs[oldest] = ms;
  keptTexts[oldest] = text;
  oldest = (oldest + 1) % KEPT;
  return text;
}

/** Civil date from the days since 1970-01-01, by the usual era arithmetic on years that begin in March. */
function render(ms: number): string {
  const days = Math.floor(ms / DAY_MS);
  const inDay = ms - days * DAY_MS;
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const hour = Math.floor(inDay / 3_600_000);
  const minute = Math.floor(inDay / 60_000) % 60;
  const second = Math.floor(inDay / 1000) % 60;
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
  return `${date}T${pad(hour, 2)}:${pad(minute, 2)}:${pad(second, 2)}.${pad(inDay % 1000, 3)}Z`;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
