// Waiters that stay are served in order, no caller passes a line, and no caller is granted anything after its wait
// has expired. Of two granted requests for one name, the one that reached the authority first is granted first,
// except when a holder re-acquires its own lease.
import { type Complain, checker } from './checker.ts';
import { makersOf } from './claims.ts';
import { follow, type Ownership } from './ownership.ts';
import type { Call, Era, Fact, Reading } from './reading.ts';
import { namesOf, text, whole } from './reading.ts';

/** Entries made by calls that are decided in the order of their arrival; what keeps or ends a lease may overtake them. */
const IN_TURN: ReadonlySet<string> = new Set([
  'NameLeased',
  'NameBroken',
  'NamesWiped',
  'ObjectWritten',
  'ObjectDeleted',
  'TaskCreated',
  'LeaseGranted',
]);

interface Grant {
  readonly call: Call;
  readonly fact: Fact;
  /** Where in the history the request reached the authority. */
  readonly arrivedAt: number;
}

export const lineOrder = checker(
  'line-order',
  'Waiters are served in order, no caller passes a line, and no waiter is served after its wait.',
  (reading, complain) => {
    const makers = makersOf(reading).byFact;
    for (const era of reading.eras) {
      const times = new Times(reading, era, makers);
      /** By name: of those granted so far, the one that arrived last. */
      const latest = new Map<string, Grant>();
      follow(era, (fact, before) => {
        const call = makers.get(fact);
        if (fact.entry.type !== 'NameLeased' || call?.arrival === undefined) return;
        const grant = { call, fact, arrivedAt: reading.placeOf(call.arrival) };
        times.complainOfLate(grant, complain);
        if (isTakenAgain(fact, before) || call.call.request.supersedes !== undefined) return;
        for (const name of namesOf(fact.entry)) {
          const passed = latest.get(name);
          if (passed === undefined || passed.arrivedAt < grant.arrivedAt) latest.set(name, grant);
          else complainOfPassing(name, grant, passed, complain);
        }
      });
    }
  },
);

function complainOfPassing(name: string, late: Grant, early: Grant, complain: Complain): void {
  complain(
    `${late.call.call.client} asked for ${name} before ${early.call.call.client}, and got it after it`,
    late.call.call,
    late.call.arrival,
    early.call.arrival,
    early.fact.event,
    late.fact.event,
  );
}

function isTakenAgain(fact: Fact, before: Ownership): boolean {
  const holder = text(fact.entry.holder);
  return namesOf(fact.entry).some((name) => before.names.get(name)?.lease?.owner === holder);
}

/** The latest time at the authority when a request had arrived: a caller that came later was answered. */
class Times {
  /** From the last arrival to the first: the earliest time of any entry that a later call made. */
  private readonly bounds: { readonly place: number; readonly atMs: number }[] = [];

  constructor({ placeOf }: Reading, { facts }: Era, makers: ReadonlyMap<Fact, Call>) {
    const made = facts.flatMap((fact) => {
      const arrival = IN_TURN.has(fact.entry.type) ? makers.get(fact)?.arrival : undefined;
      return arrival === undefined ? [] : [{ place: placeOf(arrival), atMs: fact.atMs }];
    });
    made.sort((a, b) => b.place - a.place);
    let least = Number.POSITIVE_INFINITY;
    for (const each of made) {
      least = Math.min(least, each.atMs);
      this.bounds.push({ place: each.place, atMs: least });
    }
  }

  complainOfLate({ call, fact, arrivedAt }: Grant, complain: Complain): void {
    const waitMs = whole(call.call.request.wait_ms) || 0;
    const arrivedMs = this.latestAt(arrivedAt);
    if (fact.atMs < arrivedMs + waitMs || (waitMs === 0 && fact.atMs === arrivedMs)) return;
    complain(
      `${call.call.client} waited ${waitMs} ms from ${arrivedMs} on and is granted ${fact.seq} at ${fact.atMs}`,
      call.call,
      call.arrival,
      fact.event,
    );
  }

  private latestAt(place: number): number {
    // The bounds descend by place: the last one above this place is the tightest that counts.
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.bounds[middle]!.place >= place) low = middle + 1;
      else high = middle;
    }
    return this.bounds[low - 1]?.atMs ?? Number.POSITIVE_INFINITY;
  }
}
