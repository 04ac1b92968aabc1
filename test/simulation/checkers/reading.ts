// A history as the checkers read it: calls beside their answers, and the log as the entries tell it. What a lying disk or
// a restored backup took away ends an era: the next one begins with the entries that were kept. Within an era the log
// only grows, so every rule holds for each era as a whole.
import { createHash } from 'node:crypto';
import type {
  Allowance,
  AnswerEvent,
  ArriveEvent,
  BootEvent,
  CallEvent,
  EntryEvent,
  FaultEvent,
  History,
  HistoryEvent,
  UnansweredEvent,
} from '../history.ts';
import type { Json } from '../plan.ts';

export interface Call {
  readonly call: CallEvent;
  readonly arrival: ArriveEvent | undefined;
  /** The answer that says what happened; undefined while unknown. */
  readonly answer: AnswerEvent | undefined;
  readonly unanswered: UnansweredEvent | undefined;
  /** Places in the history; Infinity for an answer that never came. */
  readonly calledAt: number;
  readonly answeredAt: number;
}

export interface Fact {
  readonly seq: number;
  readonly atMs: number;
  readonly entry: EntryEvent['entry'];
  /** Where it was seen first. */
  readonly event: EntryEvent;
}

export interface Era {
  /** In the order of their positions: those kept from the era before, then its own. */
  readonly facts: readonly Fact[];
  /** How many of them were kept from the era before. */
  readonly kept: number;
  /** Facts of this era that were gone when the next one began. */
  readonly lost: readonly Fact[];
  /** What ended it; undefined for the last one. */
  readonly end: { readonly boot: BootEvent; readonly allowedBy: FaultEvent | undefined } | undefined;
}

/** The same position with two contents. */
export interface Conflict {
  readonly first: Fact;
  readonly second: Fact;
}

export interface Reading {
  readonly events: readonly HistoryEvent[];
  placeOf(event: HistoryEvent): number;
  /** At the wire, in the order in which they were made. */
  readonly calls: readonly Call[];
  readonly eras: readonly Era[];
  readonly conflicts: readonly Conflict[];
  /** The log as it was read back at the end; undefined when it was not. */
  readonly log: readonly Fact[] | undefined;
}

export function read({ events }: Pick<History, 'events'>): Reading {
  const places = new Map(events.map((event, place) => [event, place]));
  return {
    events,
    placeOf: (event) => places.get(event) ?? -1,
    calls: callsOf(events),
    ...logOf(events),
  };
}

function callsOf(events: readonly HistoryEvent[]): Call[] {
  const calls = new Map<number, { -readonly [Key in keyof Call]: Call[Key] }>();
  for (const [place, event] of events.entries()) {
    if (event.kind === 'call' && event.layer === 'wire') {
      calls.set(event.id, {
        call: event,
        arrival: undefined,
        answer: undefined,
        unanswered: undefined,
        calledAt: place,
        answeredAt: Number.POSITIVE_INFINITY,
      });
    } else if (event.kind === 'arrive') {
      const call = calls.get(event.id);
      if (call !== undefined) call.arrival ??= event;
    } else if (event.kind === 'answer') {
      const call = calls.get(event.id);
      if (call === undefined || !saysWhatHappened(event)) continue;
      call.answer = event;
      call.answeredAt = place;
    } else if (event.kind === 'unanswered') {
      const call = calls.get(event.id);
      if (call !== undefined) call.unanswered = event;
    }
  }
  return [...calls.values()];
}

/** A server that fails may have done what it was asked for; one that is overloaded or full has not. */
function saysWhatHappened({ status, body }: AnswerEvent): boolean {
  return status < 500 || body.code === 'OVERLOADED' || body.code === 'DISK_FULL';
}

class LogReader {
  readonly eras: Era[] = [];
  readonly conflicts: Conflict[] = [];
  private facts = new Map<number, Fact>();
  private keptThrough = 0;
  private allowances: FaultEvent[] = [];

  allow(fault: FaultEvent): void {
    if (fault.allows.some(({ may }) => may === 'lose' || may === 'restore')) this.allowances.push(fault);
  }

  /**
   * Entries that a new writer does not know, or finds replaced, are gone. Its own first entry is its newest;
   * `replayed` is what it had read before and no client had seen.
   */
  boot(boot: BootEvent, replayed: readonly Fact[]): void {
    if (boot.epoch === 0) return;
    const restore = this.restoreBefore(boot);
    if (restore !== undefined) return this.restored(boot, restore);
    const other = replayed.find((fact) => this.isOther(fact))?.seq ?? Number.POSITIVE_INFINITY;
    const through = Math.min(boot.lastSeq, other) - 1;
    const lost = [...this.facts.values()].filter(({ seq }) => seq > through);
    if (lost.length === 0) return;
    const allowedBy = this.allowances.find(({ allows }) =>
      allows.some((each) => each.may === 'lose' && lost.every(({ seq }) => seq >= each.fromSeq)),
    );
    this.endEra(lost, { boot, allowedBy });
    for (const { seq } of lost) this.facts.delete(seq);
    this.keptThrough = through;
  }

  /** The log is again as it was at the backup. Its other contents come after the boot. */
  private restored(boot: BootEvent, { fault, madeAtMs, lastSeq }: Restore): void {
    const era = this.eras.find(({ end }) => end!.boot.simMs > madeAtMs);
    const then = era?.facts ?? [...this.facts.values()];
    const facts = new Map(then.filter(({ seq }) => seq <= lastSeq).map((fact) => [fact.seq, fact]));
    const lost = [...this.facts.values()].filter((fact) => {
      const kept = facts.get(fact.seq);
      return kept === undefined || !isSame(kept, fact);
    });
    this.endEra(lost, { boot, allowedBy: fault });
    this.facts = facts;
    this.keptThrough = lastSeq;
    this.allowances = this.allowances.filter(({ allows }) => !allows.some(({ may }) => may === 'restore'));
  }

  fact(event: EntryEvent): void {
    const fact = factOf(event);
    const known = this.facts.get(event.seq);
    if (known === undefined) this.facts.set(event.seq, fact);
    else if (!isSame(known, fact)) this.conflicts.push({ first: known, second: fact });
  }

  private isOther(fact: Fact): boolean {
    const known = this.facts.get(fact.seq);
    return known !== undefined && !isSame(known, fact);
  }

  endEra(lost: readonly Fact[], end: Era['end']): void {
    const facts = [...this.facts.values()].sort((a, b) => a.seq - b.seq);
    const kept = facts.filter(({ seq }) => seq <= this.keptThrough).length;
    this.eras.push({ facts, kept, lost, end });
  }

  /** The restore that this writer is the first to know: the newest, if no earlier writer started from one. */
  private restoreBefore({ lastSeq }: BootEvent): Restore | undefined {
    for (const fault of this.allowances.toReversed()) {
      for (const each of fault.allows) {
        if (each.may === 'restore' && lastSeq > each.seq) return { ...each, fault };
      }
    }
    return undefined;
  }
}

type Restore = Extract<Allowance, { may: 'restore' }> & { readonly fault: FaultEvent };

function logOf(events: readonly HistoryEvent[]): Pick<Reading, 'eras' | 'conflicts' | 'log'> {
  const reader = new LogReader();
  const log: Fact[] = [];
  for (const [place, event] of events.entries()) {
    if (event.kind === 'fault') reader.allow(event);
    else if (event.kind === 'boot') reader.boot(event, replayedAfter(events, place));
    else if (event.kind === 'entry') {
      reader.fact(event);
      if (event.source === 'log') log.push(factOf(event));
    }
  }
  reader.endEra([], undefined);
  return { eras: reader.eras, conflicts: reader.conflicts, log: log.length === 0 ? undefined : log };
}

/** What a start had replayed is noted right behind it. */
function replayedAfter(events: readonly HistoryEvent[], boot: number): Fact[] {
  const replayed: Fact[] = [];
  for (let place = boot + 1; place < events.length; place++) {
    const event = events[place]!;
    if (event.kind !== 'entry' || event.source !== 'replay') break;
    replayed.push(factOf(event));
  }
  return replayed;
}

function factOf(event: EntryEvent): Fact {
  return { seq: event.seq, atMs: event.atMs, entry: event.entry, event };
}

function isSame(a: Fact, b: Fact): boolean {
  return a.atMs === b.atMs && JSON.stringify(a.entry) === JSON.stringify(b.entry);
}

// What entries and bodies hold, by the names that the wire has for them.

export function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

export function whole(value: Json | undefined): number {
  return typeof value === 'number' ? value : Number.NaN;
}

export function millis(value: Json | undefined): number {
  return Date.parse(text(value));
}

export function record(value: Json | undefined): Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, Json>)
    : {};
}

export function list(value: Json | undefined): readonly Readonly<Record<string, Json>>[] {
  return Array.isArray(value) ? value.map(record) : [];
}

export function namesOf(fields: Readonly<Record<string, Json>>): readonly string[] {
  return Array.isArray(fields.names) ? fields.names.map(text) : [text(fields.name)];
}

const hashes = new Map<string, string>();

/** As the log has it. */
export function hashOf(token: Json | undefined): string {
  const known = hashes.get(text(token));
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(text(token)).digest('hex');
  hashes.set(text(token), hash);
  return hash;
}
