/**
 * The log in slices, ready to be sent: bounded numbers of durable entries as text, each rendered once for
 * all followers and encoded once for each format and filter. Slices are read from the log itself, so
 * what is in one is durable, in order and, but for what a filter leaves out, without gaps.
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

/** What the slices need of a log. */
export type ReadableLog = Pick<Log, 'entries' | 'position' | 'read'>;

/** Enough to make a read worth its cost, little enough that rendering keeps no other request waiting. */
export const SLICE_ENTRIES_MAX = 512;
/** What a filter leaves out is not rendered, so more can be looked at. */
const FILTERED_ENTRIES_MAX = 4_096;
const SLICE_CHARACTERS_MAX = 256 * 1024;
const SLICES_KEPT = 8;

export interface Line {
  readonly seq: number;
  readonly type: string;
  readonly text: string;
  /** The position of the intent of the session it is about; 0 for all other entries. */
  readonly session: number;
  /** Whether that session ends with it. */
  readonly isEnd: boolean;
}

/** Some entries only. Followers with the same key get the same bytes. */
export interface LineFilter {
  readonly key: string;
  takes(line: Pick<Line, 'type' | 'session'>): boolean;
  /** Nothing more will come after the line that ends it. */
  readonly stopsAtEnd: boolean;
  /** Entries are shown without their opaque values. */
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

/** The life of one session, by the position of its intent. */
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
  /** Where reading continues after it. */
  readonly nextSeq: number;
  private readonly encoded = new Map<string, Buffer>();

  constructor(lines: readonly Line[], nextSeq: number) {
    this.lines = lines;
    this.nextSeq = nextSeq;
    this.characters = lines.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** Several as one, in their order. */
  static of(slices: readonly Slice[]): Slice {
    if (slices.length === 1) return slices[0]!;
    return new Slice(
      slices.flatMap(({ lines }) => lines),
      slices.at(-1)!.nextSeq,
    );
  }

  /** Everything from `fromSeq` on that the filter takes. All followers of the whole slice get the same bytes. */
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

  /** Whether nothing more can come for this filter after it. */
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
 * Reads at most so many entries that the filter takes; null when the log no longer reaches back that far, or ends
 * before. With a filter there may be none, and reading continues all the same.
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
 * The newest slices by where they begin. Followers that set out from the same place, as all do after a restart,
 * walk through the log together and share what one of them had read.
 */
export class LogSlices {
  private readonly log: ReadableLog;
  private readonly kept = new Map<number, Promise<Slice | null>>();

  constructor(log: ReadableLog) {
    this.log = log;
  }

  /** Those who want some entries only read alone. */
  read(fromSeq: number, filter: LineFilter | null = null): Promise<Slice | null> {
    if (filter !== null) return readSlice(this.log, fromSeq, SLICE_ENTRIES_MAX, filter);
    const known = this.kept.get(fromSeq);
    if (known !== undefined) return known;
    const slice = readSlice(this.log, fromSeq);
    this.kept.set(fromSeq, slice);
    if (this.kept.size > SLICES_KEPT) this.kept.delete(this.kept.keys().next().value!);
    // What could not be read is not worth keeping; the caller gets the fault.
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
