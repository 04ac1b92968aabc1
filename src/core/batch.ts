/**
 * The decisions of the machine that the authority has not taken yet: entries, already applied, and answers for callers
 * that waited in lines. The authority takes both after every step, encodes the entries into its log, and sends the
 * answers once the log is durable.
 *
 * The state stores where the log keeps opaque bytes, so positions are assigned as entries are added: one after the
 * other, in the order of `opaquesOf`, from the start of the opaque area of the log's next batch. The encoder
 * checks that it writes them there.
 */
import type { Answer } from './answers.ts';
import type { Entry } from './entries.ts';
import { opaquesOf } from './entry-opaques.ts';
import type { Ticket } from './lines.ts';
import { NOWHERE } from './opaque.ts';
import type { Refusal } from './refusals.ts';

export interface DecidedEntry {
  readonly seq: number;
  readonly atMs: number;
  readonly entry: Entry;
  /** When an expiry fell due; 0 for any other entry. */
  readonly dueMs: number;
}

export interface Settled {
  readonly ticket: Ticket;
  readonly answer: Answer | Refusal;
}

export class Batch {
  /** Entries since `begin`. */
  entries: DecidedEntry[] = [];
  private settled: Settled[] = [];
  private nextAt = 0;

  /** `areaAt`: where the opaque bytes of its first entry go. */
  begin(areaAt: number): void {
    this.entries = [];
    this.nextAt = areaAt;
  }

  add(entry: Entry, seq: number, atMs: number, dueMs: number): void {
    const opaques = opaquesOf(entry);
    for (let index = 0; index < opaques.length; index++) {
      const opaque = opaques[index]!;
      if (opaque === null) continue;
      opaque.at = opaque.length === 0 ? NOWHERE : this.nextAt;
      this.nextAt += opaque.length;
    }
    this.entries.push({ seq, atMs, entry, dueMs });
  }

  settle(ticket: Ticket, answer: Answer | Refusal): void {
    this.settled.push({ ticket, answer });
  }

  /** The answers since the last call. */
  takeSettled(): readonly Settled[] {
    const { settled } = this;
    // There are usually none.
    if (settled.length > 0) this.settled = [];
    return settled;
  }
}
