/**
 * The log in slices, ready to be sent: bounded numbers of durable entries as text, each rendered once for
 * everybody who asks for it and encoded once for each format. Slices are read from the log itself, so what
 * is in one is durable, in order and without gaps.
 *
 *   ndjson   {"seq":7,…}⏎
 *   sse      id: 7⏎ event: NameLeased⏎ data: {"seq":7,…}⏎ ⏎
 */
import { entryBody } from '../embedded/entry-bodies.ts';
import { type Log, LogCompactedError } from '../engines/log.ts';
import { jsonText } from '../protocol/json.ts';

export type FollowFormat = 'ndjson' | 'sse';

/** What the slices need of a log. */
export type ReadableLog = Pick<Log, 'entries' | 'position' | 'read'>;

/** Enough to make a read worth its cost, little enough that rendering keeps nobody else waiting. */
export const SLICE_ENTRIES_MAX = 512;
const SLICE_CHARACTERS_MAX = 256 * 1024;
const SLICES_KEPT = 8;
/** How many may read at a time for those who are behind. */
const READERS_MAX = 4;

export interface Line {
  readonly seq: number;
  readonly type: string;
  readonly text: string;
}

const ENCODE: Readonly<Record<FollowFormat, (line: Line) => string>> = {
  ndjson: ({ text }) => `${text}\n`,
  sse: ({ seq, type, text }) => `id: ${seq}\nevent: ${type}\ndata: ${text}\n\n`,
};

export class Slice {
  readonly lines: readonly Line[];
  readonly characters: number;
  private readonly encoded: Partial<Record<FollowFormat, Buffer>> = {};

  constructor(lines: readonly Line[]) {
    this.lines = lines;
    this.characters = lines.reduce((sum, { text }) => sum + text.length, 0);
  }

  /** Several as one, in their order. */
  static of(slices: readonly Slice[]): Slice {
    return slices.length === 1 ? slices[0]! : new Slice(slices.flatMap(({ lines }) => lines));
  }

  /** Where reading goes on after it. */
  get nextSeq(): number {
    return this.lines.at(-1)!.seq + 1;
  }

  /** Everything from `fromSeq` on. Who wants the whole gets the same bytes as everybody else. */
  bytes(format: FollowFormat, fromSeq = 0): Buffer {
    if (fromSeq > this.lines[0]!.seq) return encode(format, this.linesFrom(fromSeq));
    this.encoded[format] ??= encode(format, this.lines);
    return this.encoded[format];
  }

  private linesFrom(fromSeq: number): readonly Line[] {
    return this.lines.filter(({ seq }) => seq >= fromSeq);
  }
}

function encode(format: FollowFormat, lines: readonly Line[]): Buffer {
  return Buffer.from(lines.map(ENCODE[format]).join(''));
}

/** Reads at most so many entries; null when the log no longer reaches back that far, or ends before. */
export async function readSlice(
  log: ReadableLog,
  fromSeq: number,
  entriesMax = SLICE_ENTRIES_MAX,
): Promise<Slice | null> {
  if (fromSeq < log.position.firstSeq) return null;
  const lines: Line[] = [];
  let characters = 0;
  try {
    for await (const logged of log.entries(fromSeq, entriesMax)) {
      const text = onOneLine(jsonText(await entryBody(log, logged)));
      lines.push({ seq: logged.seq, type: logged.entry.type, text });
      characters += text.length;
      if (characters >= SLICE_CHARACTERS_MAX) break;
    }
  } catch (fault) {
    if (!(fault instanceof LogCompactedError)) throw fault;
    return null;
  }
  return lines.length === 0 ? null : new Slice(lines);
}

/** A line break in JSON can only be space between its tokens, never part of a value; here it would end the line. */
function onOneLine(text: string): string {
  return text.includes('\n') || text.includes('\r') ? text.replaceAll(/[\r\n]/g, ' ') : text;
}

/**
 * The newest slices by where they begin. Followers that set out from the same place, as all do after a restart,
 * walk through the log together and share what one of them had read.
 */
export class LogSlices {
  private readonly log: ReadableLog;
  private readonly kept = new Map<number, Promise<Slice | null>>();
  private readonly queue: (() => void)[] = [];
  private reading = 0;

  constructor(log: ReadableLog) {
    this.log = log;
  }

  /** For the many who are behind: a few read at a time, the others wait their turn. */
  async readInTurn(fromSeq: number): Promise<Slice | null> {
    if (this.reading < READERS_MAX) this.reading += 1;
    else await new Promise<void>((go) => this.queue.push(go));
    try {
      return await this.read(fromSeq);
    } finally {
      const next = this.queue.shift();
      if (next === undefined) this.reading -= 1;
      else next();
    }
  }

  read(fromSeq: number): Promise<Slice | null> {
    const known = this.kept.get(fromSeq);
    if (known !== undefined) return known;
    const slice = readSlice(this.log, fromSeq);
    this.kept.set(fromSeq, slice);
    if (this.kept.size > SLICES_KEPT) this.kept.delete(this.kept.keys().next().value!);
    // What could not be read is not worth keeping; whoever asked hears of the fault.
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
