// Never more than N on N slots: each slot has at most one live holder, and each holder at most one slot. Judged by
// the entries about slot names, so it holds for every kind of holder.
import { checker } from './checker.ts';
import { follow } from './ownership.ts';
import type { Fact } from './reading.ts';
import { namesOf, text } from './reading.ts';

const SLOT_PREFIX = 'lease:tuner:';

export const slots = checker(
  'slots',
  'Never more than N holders on N slots, and no holder on two of them.',
  ({ eras }, complain) => {
    for (const era of eras) {
      const known = new Set(era.facts.flatMap(slotsIn));
      follow(era, (fact, before) => {
        const wanted = slotsIn(fact);
        if (wanted.length === 0) return;
        const holder = text(fact.entry.holder);
        const taken = [...before.names]
          .filter(([name, { lease }]) => isSlot(name) && lease !== null && fact.atMs < lease.expiresAtMs)
          .map(([name, { lease }]) => ({ name, lease: lease! }));
        const others = taken.filter(({ name }) => !wanted.includes(name));
        const second = others.find(({ lease }) => lease.owner === holder);
        if (second !== undefined || wanted.length > 1) {
          complain(
            `seq ${fact.seq}: ${holder} takes ${wanted.join(', ')}${second ? ` and has ${second.name}` : ''}`,
            second?.lease.grant.event,
            fact.event,
          );
        }
        const holders = [...taken.map(({ lease }) => lease.owner), holder];
        const inTheWay = taken.find(({ name, lease }) => wanted.includes(name) && lease.owner !== holder);
        if (inTheWay !== undefined || new Set(holders).size > known.size) {
          complain(
            `seq ${fact.seq}: ${new Set(holders).size} hold ${known.size} slots`,
            ...taken.map(({ lease }) => lease.grant.event),
            fact.event,
          );
        }
      });
    }
  },
);

function isSlot(name: string): boolean {
  return name.startsWith(SLOT_PREFIX);
}

function slotsIn({ entry }: Fact): string[] {
  return entry.type === 'NameLeased' ? namesOf(entry).filter(isSlot) : [];
}
