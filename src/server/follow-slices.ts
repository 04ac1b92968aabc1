/**
 * Slices of the log, ready to send: bounded runs of durable entries as text, rendered once for all followers and encoded
 * once for each format and filter. Slices are read from the log itself, so their entries are durable, in order and,
 * except for what a filter leaves out, without gaps.
 *
 *   ndjson   {"seq":7,…}⏎
 *   sse      id: 7⏎ event: NameLeased⏎ data: {"seq":7,…}⏎ ⏎
 */
import type { Entry } from '../core/entries.ts';
import { hasEnded } from '../core/sessions/session-table.ts';
import { type Log, LogCompactedError } from '../engines/log.ts';
import { entryBody } from '../operations/entry-bodies.ts';
import { jsonText, onOneLine } from '../protocol/json.ts';
import { entryTextWithoutOpaques } from './body-text.ts';

export type FollowFormat = 'ndjson' | 'sse';

/** The part of a log that slices need. */
export type ReadableLog = Pick<Log, 'entries' | 'position' | 'read'>;

/** Large enough to amortize a read, small enough that rendering delays no other request. */
export const SLICE_ENTRIES_MAX = 512;
/** Entries that a filter leaves out are not rendered, so a filtered read may scan more. */
const FILTERED_ENTRIES_MAX = 4_096;
const SLICE_CHARACTERS_MAX = 256 * 1024;
const SLICES_KEPT = 8;

export interface Line {
  readonly seq: number;
  readonly type: string;
  readonly text: string;
  /** For an entry about a session, the position of that session's intent; 0 for all other entries. */
  readonly session: number;
  /** Whether this entry ends that session. */
  readonly isEnd: boolean;
}

/** Selects entries. Followers with the same key get the same bytes. */
export interface LineFilter {
  readonly key: string;
  takes(line: Pick<Line, 'type' | 'session'>): boolean;
  /** The stream ends after a line with `isEnd`. */
  readonly stopsAtEnd: boolean;
  /** Entries are sent without their opaque values. */
  readonly hidesOpaques?: true;
}

/** The same entries for a follower that may not see opaque values. */
export function hidingOpaques(filter: LineFilter | null): LineFilter {
  const { key = '', takes = () => true, stopsAtEnd = false } = filter ?? {};
  return { key: `hidden ${key}`, takes, stopsAtEnd, hidesOpaques: true };
}

export function onlyTypes(types: readonly string[]): LineFilter {
  const wanted = new Set(types);
  return { key: [...wanted].sort().join(), takes: ({ type }) => wanted.has(type), stopsAtEnd: false };
}

/** Selects the entries of one session, by the position of its intent. */
export function onlySession(seq: number): LineFilter {
  return { key: `session ${seq}`, takes: ({ session }) => session === seq, stopsAtEnd: true };
}

function sessionOf(entry: Entry, seq: number): number {
  if (entry.type === 'IntentAccepted') return seq;
  return entry.type === 'SessionChanged' ? entry.session : 0;
}

const ENCODE: Readonly<Record<FollowFormat, (line: Line) => string>> = {
  ndjson: ({ text }) => `${text}\n`,
  sse: ({ seq, type, text }) => `id: ${seq}\nevent: ${type}\ndata: ${text}\n\n`,
};

export class Slice {
  readonly lines: readonly Line[];
  readonly characters: number;
  /** The position where reading continues. */
  readonly nextSeq: number;
  private readonly encoded = new Map<string, Buffer>();

  constructor(lines: readonly Line[], nextSeq: number) {
    this.lines = lines;
    this.nextSeq = nextSeq;
    this.characters = lines.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** Joins several slices, in order. */
  static of(slices: readonly Slice[]): Slice {
    if (slices.length === 1) return slices[0]!;
    return new Slice(
      slices.flatMap(({ lines }) => lines),
      slices.at(-1)!.nextSeq,
    );
  }

  /** The entries from `fromSeq` on that the filter takes. All followers of the whole slice get the same buffer. */
  bytes(format: FollowFormat, fromSeq = 0, filter: LineFilter | null = null): Buffer {
    const lines = filter === null ? this.lines : this.lines.filter((line) => filter.takes(line));
    const [first] = lines;
    if (first === undefined) return NOTHING;
    if (fromSeq > first.seq) return encode(format, this.linesFrom(fromSeq, filter), filter);
    const key = filter === null ? format : `${format} ${filter.key}`;
    const known = this.encoded.get(key);
    if (known !== undefined) return known;
    const bytes = encode(format, lines, filter);
    this.encoded.set(key, bytes);
    return bytes;
  }

  linesFrom(fromSeq: number, filter: LineFilter | null): Line[] {
    return this.lines.filter((line) => line.seq >= fromSeq && filter?.takes(line) !== false);
  }

  /** Whether this slice ends a stream with this filter. */
  ends(filter: LineFilter | null): boolean {
    return filter?.stopsAtEnd === true && this.lines.some((line) => line.isEnd && filter.takes(line));
  }
}

const NOTHING = Buffer.alloc(0);

export function encode(
  format: FollowFormat,
  lines: readonly Line[],
  filter: LineFilter | null = null,
): Buffer {
  const shown = filter?.hidesOpaques
    ? lines.map((line) => ({ ...line, text: entryTextWithoutOpaques(line.text) }))
    : lines;
  return Buffer.from(shown.map(ENCODE[format]).join(''));
}

/**
 * Reads a bounded number of entries that the filter takes; null when the log no longer reaches back to `fromSeq`, or ends
 * before it. With a filter a slice may have no entry; reading then continues at its `nextSeq`.
 */
export async function readSlice(
  log: ReadableLog,
  fromSeq: number,
  linesMax = SLICE_ENTRIES_MAX,
  filter: LineFilter | null = null,
): Promise<Slice | null> {
  if (fromSeq < log.position.firstSeq) return null;
  const lines: Line[] = [];
  let nextSeq = fromSeq;
  let characters = 0;
  try {
    for await (const logged of log.entries(fromSeq, filter === null ? linesMax : FILTERED_ENTRIES_MAX)) {
      const { seq, entry } = logged;
      const line = { seq, type: entry.type, session: sessionOf(entry, seq) };
      nextSeq = seq + 1;
      if (filter !== null && !filter.takes(line)) continue;
      const text = onOneLine(jsonText(await entryBody(log, logged)));
      lines.push({ ...line, text, isEnd: entry.type === 'SessionChanged' && hasEnded(entry) });
      characters += text.length;
      if (characters >= SLICE_CHARACTERS_MAX || lines.length === linesMax) break;
    }
  } catch (fault) {
    if (!(fault instanceof LogCompactedError)) throw fault;
    return null;
  }
  return nextSeq === fromSeq ? null : new Slice(lines, nextSeq);
}

/**
 * A cache of the newest slices by their first position. Followers that start at the same position, as all do after a
 * restart, move through the log together, and one read serves them all.
 */
export class LogSlices {
  private readonly log: ReadableLog;
  private readonly kept = new Map<number, Promise<Slice | null>>();

  constructor(log: ReadableLog) {
    this.log = log;
  }

  /** Filtered slices are not cached. */
  read(fromSeq: number, filter: LineFilter | null = null): Promise<Slice | null> {
    if (filter !== null) return readSlice(this.log, fromSeq, SLICE_ENTRIES_MAX, filter);
    const known = this.kept.get(fromSeq);
    if (known !== undefined) return known;
    const slice = readSlice(this.log, fromSeq);
    this.kept.set(fromSeq, slice);
    if (this.kept.size > SLICES_KEPT) this.kept.delete(this.kept.keys().next().value!);
    // A failed read is not cached; the caller gets the fault.
    const forget = (): void => {
      if (this.kept.get(fromSeq) === slice) this.kept.delete(fromSeq);
    };
    slice.then((found) => {
      if (found === null) forget();
    }, forget);
    return slice;
  }

  clear(): void {
    this.kept.clear();
  }
}
