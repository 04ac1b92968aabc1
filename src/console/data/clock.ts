/**
 * Time as the page shows it. Remaining times count by the authority's clock, which every answer with a time corrects.
 * `tick` advances while the page is live; only components that show a running time read it.
 */
import { computed, effect, signal } from '@preact/signals';
import { moment } from './route.ts';

const TICK_MS = 500;
const ZONE_KEY = 'leasehold.zone';

/** The user paused the refresh. */
export const isPaused = signal(false);
export const isHidden = signal(document.visibilityState === 'hidden');
/** Whether the page polls the server. */
export const isLive = computed(() => !isPaused.value && !isHidden.value && moment.value === null);

addEventListener('visibilitychange', () => {
  isHidden.value = document.visibilityState === 'hidden';
});

let aheadMs = 0;
let pastMs: number | null = null;

/** The estimated time of the authority: the present, or the earlier moment that is shown. */
export function authorityNow(): number {
  return pastMs ?? presentNow();
}

function presentNow(): number {
  return Date.now() + aheadMs;
}

/** Stops the clock at an instant; null resumes the present. */
export function holdTime(atMs: number | null): void {
  pastMs = atMs;
  tick.value = authorityNow();
}

/** The time at which the remaining times of an answer hold. At an earlier moment they stay valid. */
export function seenNow(): number {
  return moment.peek() === null ? authorityNow() : Number.POSITIVE_INFINITY;
}

export function learnTime(instant: string): void {
  aheadMs = Date.parse(instant) - Date.now();
}

export const tick = signal(authorityNow());

setInterval(() => {
  if (isLive.value) tick.value = authorityNow();
}, TICK_MS);

// Back in the present, nothing may count from the earlier moment.
effect(() => {
  if (moment.value === null) holdTime(null);
});

/** The time zone of displayed instants. */
export const zone = signal(sessionStorage.getItem(ZONE_KEY) ?? localZone());

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function switchZone(): void {
  zone.value = zone.value === 'UTC' ? localZone() : 'UTC';
  sessionStorage.setItem(ZONE_KEY, zone.value);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatted(ms: number, style: 'time' | 'date' | 'full'): string {
  const key = `${style} ${zone.value}`;
  let format = formats.get(key);
  if (format === undefined) {
    const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
    const date = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
    const parts = style === 'time' ? time : style === 'date' ? date : { ...date, ...time };
    format = new Intl.DateTimeFormat('sv-SE', { ...parts, timeZone: zone.value });
    formats.set(key, format);
  }
  return format.format(ms);
}

/** `14:02:07`, with its date when that is not today. */
export function clockText(ms: number): string {
  const isToday = dayText(ms) === dayText(presentNow());
  return formatted(ms, isToday ? 'time' : 'full');
}

/** `2026-11-18` */
export function dayText(ms: number): string {
  return formatted(ms, 'date');
}

/** `2026-11-18 14:02:07.123`: an instant in full. */
export function fullText(ms: number): string {
  return `${formatted(ms, 'full')}.${String(Math.floor(ms) % 1_000).padStart(3, '0')}`;
}

/** The UTC offset of the displayed zone at an instant: `+01:00`. */
export function zoneOffset(ms: number): string {
  const shown = Date.parse(`${formatted(ms, 'full').replace(' ', 'T')}Z`);
  const minutes = Math.round((shown - ms) / 60_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** `2.3 s`, `4 min 05 s`, `3 h 12 min`: two units at most. */
export function durationText(ms: number): string {
  if (ms < 0) ms = 0;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  const at = UNITS.findIndex(([size]) => ms >= size);
  const [size, unit] = UNITS[at]!;
  const [smaller, smallUnit] = UNITS[at + 1]!;
  const rest = Math.floor((ms % size) / smaller);
  return `${Math.floor(ms / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${smallUnit}`}`;
}

/** Like `durationText` in whole seconds, for running times. */
export function ageText(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : durationText(ms);
}

/** The number with digit groups, never rounded. */
export function countText(count: number): string {
  return count.toLocaleString('en-US').replaceAll(',', '\u202f');
}
