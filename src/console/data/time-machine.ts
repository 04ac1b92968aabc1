/**
 * The time machine: the range of the log that can be shown, the displayed moment, and how it moves. The moment is part
 * of the URL (`route.ts`), so every view requests that moment, and a link shows others the same.
 */
import { effect, signal } from '@preact/signals';
import type { EntryRecord, EntryType } from '../../browser.ts';
import { transportOf } from '../../client/client.ts';
import { isHidden } from './clock.ts';
import { currentClient, isAsking } from './connection.ts';
import { go, hrefAt, type Moment, moment } from './route.ts';

export interface Position {
  readonly seq: number;
  readonly atMs: number;
}

/** The range of the scrubber: from the oldest kept position to the newest. */
export interface LogRange {
  readonly first: Position;
  readonly end: Position;
}

export const logRange = signal<LogRange | null>(null);
/** The displayed position as resolved by the server; null until it has answered. */
export const shown = signal<Position | null>(null);
/** Whether the scrubber measures positions or time. */
export const scale = signal<'seq' | 'time'>('seq');
export const isPlaying = signal(false);
export const speed = signal(5);

/** The positions of losses found so far. */
export const losses = signal<readonly Position[]>([]);

/** Entries per second, or seconds per second. */
export const SPEEDS: readonly number[] = [1, 5, 20, 100, 1_000];

const PLAY_MS = 250;

export function showMoment(at: Moment): void {
  go(hrefAt(at), moment.peek() !== null && at !== null);
}

let wanted: Moment = null;
let waiting: ReturnType<typeof setTimeout> | null = null;
const AGAIN_MS = 60;

/**
 * Follows the scrubber. While a request is in flight only the newest position is kept, so that dragging does not flood
 * the server.
 */
export function scrubTo(at: Moment): void {
  isPlaying.value = false;
  wanted = at;
  if (waiting === null) follow();
}

function follow(): void {
  waiting = isAsking() ? setTimeout(follow, AGAIN_MS) : null;
  if (waiting === null) showMoment(wanted);
}

/** Whether the scrubber is ahead of the displayed moment. */
export function isScrubbing(): boolean {
  return waiting !== null;
}

export function backToLive(): void {
  isPlaying.value = false;
  showMoment(null);
}

/** Starts at the newest entry, from which the user steps back. */
export function openTimeMachine(endSeq: number): void {
  if (moment.peek() === null) showMoment({ at_seq: endSeq });
}

let lastStep: Promise<void> = Promise.resolve();

/** Moves by entries, one step after the other. */
export function step(entries: number): Promise<void> {
  lastStep = lastStep.catch(() => undefined).then(() => move(entries));
  return lastStep;
}

/** A restored log has a gap in its numbers, so the next entry is looked up. */
async function move(entries: number): Promise<void> {
  const [at, range] = [moment.peek(), logRange.peek()];
  const from = at !== null && 'at_seq' in at ? at.at_seq : shown.peek()?.seq;
  if (at === null || from === undefined || range === null) return;
  const target = Math.min(range.end.seq, Math.max(range.first.seq, from + entries));
  if (entries < 0) return showMoment({ at_seq: target });
  const [entry] = await entriesFrom(target, 1);
  if (moment.peek() !== null) showMoment({ at_seq: entry?.seq ?? range.end.seq });
}

/** Jumps to the next or the previous of the positions. */
export function jump(positions: readonly number[], direction: 1 | -1): void {
  const from = shown.peek()?.seq;
  if (from === undefined) return;
  const beyond = positions.filter((seq) => (direction > 0 ? seq > from : seq < from));
  const target = direction > 0 ? Math.min(...beyond) : Math.max(...beyond);
  if (Number.isFinite(target)) showMoment({ at_seq: target });
}

export async function entriesFrom(
  from: number,
  limit: number,
  types: readonly EntryType[] = [],
): Promise<readonly EntryRecord[]> {
  const only = types.length === 0 ? {} : { types: [...types] };
  const reply = await transportOf(currentClient()).log({ from, limit, ...only });
  return reply.ok ? reply.entries : [];
}

/** Plays forward until the end. A step waits for the answers to the one before it, so a slow server is never flooded. */
effect(() => {
  if (!isPlaying.value || moment.value === null) return;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    // Stands still while hidden; otherwise it would jump ahead when the page is shown again.
    if (isHidden.peek()) lastMs = performance.now();
    const [from, range] = [shown.peek(), logRange.peek()];
    if (isAsking() || isHidden.peek() || from === null || range === null) return;
    if (from.seq >= range.end.seq) {
      isPlaying.value = false;
      return;
    }
    const seconds = (performance.now() - lastMs) / 1_000;
    if (scale.peek() === 'seq') {
      const entries = Math.floor(seconds * speed.peek());
      if (entries === 0) return;
      step(entries).catch(() => undefined);
    } else {
      const atMs = momentMs() + seconds * 1_000 * speed.peek();
      if (atMs >= range.end.atMs) showMoment({ at_seq: range.end.seq });
      else showMoment({ at: new Date(atMs).toISOString() });
    }
    lastMs = performance.now();
  }, PLAY_MS);
  return () => clearInterval(timer);
});

/** The requested instant, or that of the entry. */
export function momentMs(): number {
  const at = moment.peek();
  return at !== null && 'at' in at ? Date.parse(at.at) : (shown.peek()?.atMs ?? 0);
}

/** Parses the field's text: a position, a time of the displayed day, or a date and a time. */
export function parseMoment(text: string, dayOf: (ms: number) => string, offset: string): Moment {
  const words = text.trim();
  if (/^\d{1,16}$/.test(words)) return { at_seq: Number(words) };
  const clock = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,3})?)?$/.exec(words);
  const iso = clock === null ? words.replace(' ', 'T') : `${dayOf(momentMs())}T${words}`;
  const withZone = /(Z|[+-]\d{2}:\d{2})$/.test(iso) ? iso : `${iso}${offset}`;
  const ms = Date.parse(withZone);
  return Number.isNaN(ms) ? null : { at: new Date(ms).toISOString() };
}
