// Durable or invisible. Every acknowledged change is in the log and stays there, and no answer, read or feed shows
// anything that was not durable then. The exceptions are what a fault explicitly allows: a disk that forgets what it
// had synced, a backup that is older than what it replaces.
import type { HistoryEvent } from '../history.ts';
import { type Complain, checker } from './checker.ts';
import { claimsOf } from './claims.ts';
import type { Fact, Reading } from './reading.ts';

export const durable = checker(
  'durable',
  'What was acknowledged stays in the log; nothing was visible before it was durable.',
  (reading, complain) => {
    for (const { first, second } of reading.conflicts) {
      complain(`seq ${first.seq} is ${first.entry.type} and ${second.entry.type}`, first.event, second.event);
    }
    complainOfLosses(reading, complain);
    complainOfGaps(reading, complain);
    complainOfAnswers(reading, complain);
  },
);

function complainOfLosses({ eras, log }: Reading, complain: Complain): void {
  for (const { lost, end } of eras) {
    if (end === undefined || end.allowedBy !== undefined) continue;
    const { seq, entry, event } = lost[0]!;
    complain(`${lost.length} durable entries are gone, from seq ${seq} (${entry.type}) on`, event, end.boot);
  }
  if (log === undefined) return;
  const firstSeq = log[0]!.seq;
  const kept = new Set(log.map(({ seq }) => seq));
  const missing = eras.at(-1)!.facts.find(({ seq }) => seq >= firstSeq && !kept.has(seq));
  if (missing !== undefined) {
    complain(`seq ${missing.seq} (${missing.entry.type}) is not in the log at the end`, missing.event);
  }
}

/** Positions follow one another; only the first of a restored epoch may jump. */
function complainOfGaps({ log }: Reading, complain: Complain): void {
  for (const [index, fact] of (log ?? []).entries()) {
    const before = log![index - 1];
    if (before === undefined || fact.seq === before.seq + 1) continue;
    if (fact.entry.type === 'EpochStarted' && fact.entry.restored === true && fact.seq > before.seq) continue;
    complain(`seq ${fact.seq} follows ${before.seq}`, before.event, fact.event);
  }
}

function complainOfAnswers(reading: Reading, complain: Complain): void {
  const known = new Map<number, Fact[]>();
  for (const fact of new Set(reading.eras.flatMap(({ facts, lost }) => [...facts, ...lost]))) {
    known.set(fact.seq, [...(known.get(fact.seq) ?? []), fact]);
  }
  const replayed = replayedAt(reading.events);
  for (const call of reading.calls) {
    for (const { seq, what, matches } of claimsOf(call)) {
      const { op, client } = call.call;
      const says = (why: string) => `${op} of ${client} shows ${what} at seq ${seq}, ${why}`;
      const facts = known.get(seq) ?? [];
      const found = facts.filter(matches);
      if (facts.length === 0) complain(says('which is not in the log'), call.call, call.answer);
      else if (found.length === 0) {
        const [other] = facts;
        complain(says(`where there is ${other!.entry.type}`), call.call, call.answer, other!.event);
      } else if (!found.some((fact) => isVisible(fact, call.answeredAt, reading, replayed))) {
        complain(says('before it was durable'), call.call, call.answer, found[0]!.event);
      }
    }
  }
}

/** Where in the history each start of an authority is, and up to which position it had replayed. */
function replayedAt(events: readonly HistoryEvent[]): { place: number; lastSeq: number }[] {
  return events.flatMap((event, place) =>
    event.kind === 'boot' && event.epoch > 0 ? [{ place, lastSeq: event.lastSeq }] : [],
  );
}

/** On the feed, or in the log that a new writer has read: from then on everybody may know. */
function isVisible(
  { event, seq }: Fact,
  place: number,
  { placeOf }: Reading,
  replayed: ReturnType<typeof replayedAt>,
): boolean {
  if (event.source !== 'log' && placeOf(event) < place) return true;
  return replayed.some((boot) => boot.place < place && boot.lastSeq >= seq);
}
