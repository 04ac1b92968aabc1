// Positions, times, epochs and lease numbers only grow: across restarts, wipes, compactions, and restores, which jump
// ahead. Judged by the log and, separately, by the answers that callers got.
import type { Json } from '../plan.ts';
import { type Complain, checker } from './checker.ts';
import type { Call, Fact, Reading } from './reading.ts';
import { list, namesOf, text, whole } from './reading.ts';

/** A restored log is ahead of its backup by this much at least. */
const RESTORE_JUMP = 2 ** 40;

export const numbersGrow = checker(
  'numbers-grow',
  'lease_seq grows strictly through restarts, wipes, compactions and restores; positions, times and epochs never go back; a restored log begins above every position there was.',
  (reading, complain) => {
    let newest: Fact | undefined;
    /** The highest position there has been, of whatever entry. */
    let highest: Fact | undefined;
    for (const { facts, kept, end } of reading.eras) {
      let before = facts[kept - 1];
      let epoch = 0;
      for (const fact of facts.slice(kept)) {
        if (before !== undefined && fact.atMs < before.atMs) {
          complain(
            `time goes from ${before.atMs} to ${fact.atMs} at seq ${fact.seq}`,
            before.event,
            fact.event,
          );
        }
        if (newest !== undefined && isGrant(fact) && fact.seq <= newest.seq) {
          complain(`lease ${fact.seq} is granted after ${newest.seq}`, newest.event, fact.event);
        }
        if (fact.entry.type === 'EpochStarted') {
          const next = whole(fact.entry.epoch);
          if (next <= epoch) complain(`epoch ${next} follows ${epoch}`, before?.event, fact.event);
          epoch = next;
        }
        if (isGrant(fact)) newest = fact;
        before = fact;
      }
      if ((facts.at(-1)?.seq ?? 0) > (highest?.seq ?? 0)) highest = facts.at(-1);
      for (const each of end?.allowedBy?.allows ?? []) {
        // A disk that lies about what is durable takes numbers back; no software can help that.
        if (each.may === 'lose') newest = highest = undefined;
        if (each.may !== 'restore') continue;
        const says = `a log restored from ${each.lastSeq} goes on at ${each.seq}`;
        if (each.seq < each.lastSeq + RESTORE_JUMP) complain(`${says} already`, end?.allowedBy);
        if (highest === undefined || each.seq > highest.seq) continue;
        complain(`${says} after ${highest.seq} was given out`, highest.event, end?.allowedBy);
      }
    }
    complainOfAnswers(reading, complain);
  },
);

function isGrant({ entry }: Fact): boolean {
  return entry.type === 'NameLeased' || entry.type === 'LeaseGranted';
}

interface Told {
  readonly subject: string;
  readonly seq: number;
  readonly call: Call;
}

/** A call made after an answer arrived gets a higher number than that answer. */
function complainOfAnswers({ calls, eras }: Reading, complain: Complain): void {
  if (eras.some(({ end }) => end?.allowedBy?.allows.some(({ may }) => may === 'lose'))) return;
  const newest = new Map<string, Told>();
  const answered = calls.flatMap(toldBy).sort((a, b) => a.call.answeredAt - b.call.answeredAt);
  const asked = [...answered].sort((a, b) => a.call.calledAt - b.call.calledAt);
  let next = 0;
  for (const told of asked) {
    for (; next < answered.length && answered[next]!.call.answeredAt < told.call.calledAt; next++) {
      const { subject, seq } = answered[next]!;
      if (seq > (newest.get(subject)?.seq ?? 0)) newest.set(subject, answered[next]!);
    }
    const known = newest.get(told.subject);
    if (known !== undefined && told.seq <= known.seq) {
      complain(
        `${told.subject} is granted as ${told.seq} after it was granted as ${known.seq}`,
        known.call.answer,
        told.call.call,
        told.call.answer,
      );
    }
  }
}

function toldBy(call: Call): Told[] {
  const { answer, call: asked } = call;
  if (answer === undefined || answer.status >= 300 || answer.body.duplicate === true) return [];
  const { body } = answer;
  switch (asked.op) {
    case 'lease.acquire':
    case 'lease.acquire_all':
      return namesOf(asked.request).map((name) => ({ subject: name, seq: grantIn(body), call }));
    case 'task.lease':
      return list(body.leases).map((lease) => ({
        subject: `task ${text(lease.task_id)}`,
        seq: whole(lease.lease_seq),
        call,
      }));
    default:
      return [];
  }
}

function grantIn(body: Readonly<Record<string, Json>>): number {
  return whole(body.lease_seq ?? list(body.leases)[0]?.lease_seq);
}
