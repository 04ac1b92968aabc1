// Two programs never work under one name at one time, in the true time of the world. The authority cannot promise
// that alone: the client must count its deadline carefully. It does not hold where a lease was ended from outside
// (broken, wiped, acquired again by its own holder), which the old holder learns later; nor after the authority's
// clock was set forward, or it slept for a part of a second that it does not count: a restart adopts the wall clock. Nor
// after its disk lied.
import { checker } from './checker.ts';
import { handlesOf, troublesOf } from './handles.ts';
import { follow } from './ownership.ts';
import type { Fact, Reading } from './reading.ts';
import { namesOf, text, whole } from './reading.ts';

export const exclusive = checker(
  'exclusive',
  "Two programs never work under one name at once, in the world's own time.",
  (reading, complain) => {
    if (reading.eras.length > 1) return;
    const expired = expiredOf(reading);
    const byName = new Map<string, ReturnType<typeof handlesOf>>();
    for (const handle of handlesOf(reading)) {
      for (const name of handle.held.names) byName.set(name, [...(byName.get(name) ?? []), handle]);
    }
    for (const [name, handles] of byName) {
      const inOrder = handles.sort((a, b) => a.held.leaseSeq - b.held.leaseSeq);
      for (const [index, { held, uses }] of inOrder.entries()) {
        const next = inOrder[index + 1];
        if (next === undefined || !expired.has(`${name} ${held.leaseSeq}`)) continue;
        const used = uses.find(({ simMs }) => simMs >= next.held.simMs);
        if (used === undefined) continue;
        const clocks = troublesOf(reading, 'authority', 0, used.simMs);
        const troubles = troublesOf(reading, held.client, 0, used.simMs);
        const isBlind = troubles.includes('clock.suspend') && troubles.includes('clock.jump');
        const isRestarted = reading.events.some(
          (event) =>
            event.kind === 'boot' && event.epoch > 0 && event.simMs > held.simMs && event.simMs < used.simMs,
        );
        const isCaughtUp = clocks.includes('clock.suspend') && isRestarted;
        if (clocks.includes('clock.jump') || isCaughtUp || isBlind) continue;
        complain(
          `${held.client} works on ${name} under ${held.leaseSeq} while ${next.held.client} holds ${next.held.leaseSeq}`,
          held,
          next.held,
          used,
        );
      }
    }
  },
);

/** Which grants ran out, and were not ended from outside. */
function expiredOf({ eras }: Reading): Set<string> {
  const expired = new Set<string>();
  const note = ({ entry }: Fact): void => {
    if (entry.type === 'NameExpired') expired.add(`${text(entry.name)} ${whole(entry.lease_seq)}`);
  };
  for (const era of eras) {
    follow(era, (fact, before) => {
      note(fact);
      // A grant over one that ran out unnoticed: the checker of holders complains of it, and here it counts the same.
      if (fact.entry.type !== 'NameLeased') return;
      for (const name of namesOf(fact.entry)) {
        const lease = before.names.get(name)?.lease;
        if (lease && lease.owner !== fact.entry.holder) expired.add(`${name} ${lease.seq}`);
      }
    });
  }
  return expired;
}
