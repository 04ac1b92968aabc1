// `assertHeld()` is never true at or after the authority's end of the lease, by the authority's own clock, whatever way the client
// knows its deadline by: from before its request, or from a sample of that clock. Judged within one epoch, because the clock
// may jump between two. Excused is a client that lost time by both of its clocks since what its deadline is counted from:
// the machine slept and its wall clock was set back.
import { leaseIdOfSeq } from '../../../src/core/ids.ts';
import type { EntryEvent, HeldEvent, UsedEvent } from '../history.ts';
import { checker } from './checker.ts';
import { type Handle, handlesOf } from './handles.ts';
import { millis, type Reading, text, whole } from './reading.ts';

/** How long before the answer of a grant that waited its sample may have been taken: 10 s, and a sleep that is not noticed. */
const SAMPLE_MS = 40_000;
/** No sleep lasts longer. */
const SLEEP_MS = 30_000;

interface Term {
  readonly epoch: number;
  readonly atMs: number;
  readonly expiresAtMs: number;
  readonly event: EntryEvent;
}

export const inTime = checker(
  'in-time',
  "assertHeld() never passes at or after the end of the lease by the authority's clock, unless both clocks of the client lost time.",
  (reading, complain) => {
    const terms = termsOf(reading);
    for (const handle of handlesOf(reading)) {
      const { held, uses } = handle;
      for (const used of uses) {
        const { authority } = used;
        if (authority === null) continue;
        const known = (terms.get(keyOf(held)) ?? []).filter(({ atMs }) => atMs <= authority.atMs);
        if (known.length === 0) continue;
        const last = known.reduce((a, b) => (b.expiresAtMs > a.expiresAtMs ? b : a));
        if (last.epoch !== authority.epoch || authority.atMs < last.expiresAtMs) continue;
        if (isBlind(reading, handle, used)) continue;
        const lateMs = authority.atMs - last.expiresAtMs;
        complain(
          `${held.client} relies on ${held.leaseSeq} ${lateMs} ms after its end`,
          held,
          last.event,
          used,
        );
      }
    }
  },
);

function keyOf({ task, names, leaseSeq }: HeldEvent): string {
  return task === undefined ? `${names[0]} ${leaseSeq}` : leaseIdOfSeq(leaseSeq);
}

/** What the log says of each lease: when it was granted or renewed, and until when. */
function termsOf({ events }: Reading): Map<string, Term[]> {
  const epochs = new Map<string, number>();
  const terms = new Map<string, Term[]>();
  const note = (key: string, event: EntryEvent, until: EntryEvent['entry'][string]): void => {
    // What was first seen by a later writer is of an earlier epoch.
    const epoch = event.source === 'feed' ? (epochs.get(event.node) ?? 0) : 0;
    const term = { epoch, atMs: event.atMs, expiresAtMs: millis(until), event };
    terms.set(key, [...(terms.get(key) ?? []), term]);
  };
  for (const event of events) {
    if (event.kind === 'boot') epochs.set(event.node, event.epoch);
    if (event.kind !== 'entry' || event.source === 'log') continue;
    const { entry } = event;
    if (entry.type === 'NameLeased') {
      const names = Array.isArray(entry.names) ? entry.names.map(text) : [text(entry.name)];
      for (const name of names) note(`${name} ${event.seq}`, event, entry.expires_at!);
    } else if (entry.type === 'NameRenewed')
      note(`${text(entry.name)} ${whole(entry.lease_seq)}`, event, entry.expires_at!);
    else if (entry.type === 'LeaseGranted') note(text(entry.lease_id), event, entry.expiry_timestamp!);
    else if (entry.type === 'LeaseExtended') note(text(entry.lease_id), event, entry.new_expiry_timestamp!);
  }
  return terms;
}

/** Both of its clocks have lost time since what it counts from. */
function isBlind({ events }: Reading, { held, assurances }: Handle, used: UsedEvent): boolean {
  const fromMs = Math.min(
    ...assurances.map(({ call, answeredMs, isWaited }) =>
      isWaited ? answeredMs - SAMPLE_MS : call.call.simMs,
    ),
    used.simMs,
  );
  let isAsleep = false;
  let isSetBack = false;
  for (const event of events) {
    if (event.kind !== 'fault' || (event.target !== held.client && event.target !== '*')) continue;
    if (event.simMs > used.simMs) break;
    isAsleep ||= event.fault === 'clock.suspend' && event.simMs >= fromMs - SLEEP_MS;
    isSetBack ||= event.fault === 'clock.jump' && whole(event.detail.byMs) < 0 && event.simMs >= fromMs;
  }
  return isAsleep && isSetBack;
}
