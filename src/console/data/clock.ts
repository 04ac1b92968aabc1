/**
 * Time as the reader sees it. Remaining times are counted by the authority's clock: every answer that tells its time corrects
 * ours. `tick` moves while the page is live, and only what shows a running time reads it.
 */
import { computed, effect, signal } from '@preact/signals';
import { moment } from './route.ts';

const TICK_MS = 500;
const ZONE_KEY = 'leasehold.zone';

/** The reader stopped the refresh. */
export const isPaused = signal(false);
export const isHidden = signal(document.visibilityState === 'hidden');
/** Whether the page asks by itself. */
export const isLive = computed(() => !isPaused.value && !isHidden.value && moment.value === null);

addEventListener('visibilitychange', () => {
  isHidden.value = document.visibilityState === 'hidden';
});

let aheadMs = 0;
let pastMs: number | null = null;

/** The authority's time, as well as we know it: of now, or of the earlier moment that is shown. */
export function authorityNow(): number {
  return pastMs ?? presentNow();
}

function presentNow(): number {
  return Date.now() + aheadMs;
}

/** Stands still at an instant; null: goes on with the present. */
export function holdTime(atMs: number | null): void {
  pastMs = atMs;
  tick.value = authorityNow();
}

/** When an answer that tells a remaining time was true: at an earlier moment it stays true. */
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

// Back in the present nothing may be counted from the earlier moment.
effect(() => {
  if (moment.value === null) holdTime(null);
});

/** The zone in which instants are shown. */
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

/** `2026-11-18 14:02:07.123`: an instant that stands for itself. */
export function fullText(ms: number): string {
  return `${formatted(ms, 'full')}.${String(Math.floor(ms) % 1_000).padStart(3, '0')}`;
}

/** How far the zone that is shown is ahead of UTC at an instant: `+01:00`. */
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

/** The same in whole seconds, for what grows by itself. */
export function ageText(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : durationText(ms);
}

/** Digits in groups, never rounded. */
export function countText(count: number): string {
  return count.toLocaleString('en-US').replaceAll(',', '\u202f');
}
