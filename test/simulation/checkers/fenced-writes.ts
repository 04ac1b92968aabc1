// No write below the fence is ever accepted, and none after its lease has ended: every write in the log was made by the
// live lease of that very name, before its end, and made the next version.
import { checker } from './checker.ts';
import { follow, writesIn } from './ownership.ts';

export const fencedWrites = checker(
  'fenced-writes',
  'No write is accepted below the fence or after its lease, and no version twice.',
  ({ eras }, complain) => {
    for (const era of eras) {
      follow(era, (fact, before) => {
        for (const { objectId, leaseSeq, version } of writesIn(fact)) {
          const name = before.names.get(objectId);
          const says = (what: string) => `seq ${fact.seq}: ${objectId} is written under ${leaseSeq}, ${what}`;
          const grant = name?.last.grant.event;
          if (name === undefined) complain(says('and was never leased'), fact.event);
          else if (name.last.seq !== leaseSeq) {
            complain(says(`but the fence is ${name.last.seq}`), grant, fact.event);
          } else if (name.lease === null) complain(says('which is over'), grant, name.end?.event, fact.event);
          else if (name.lease.expiresAtMs <= fact.atMs) {
            complain(
              says(`which ended at ${name.lease.expiresAtMs}`),
              grant,
              name.lease.newest.event,
              fact.event,
            );
          }
          const versions = countWrites(fact, objectId);
          const known = before.versions.get(objectId) ?? 0;
          if (version <= known || version > known + versions) {
            complain(`seq ${fact.seq}: version ${version} of ${objectId} follows ${known}`, fact.event);
          }
        }
      });
    }
  },
);

/** One entry may write an object several times. */
function countWrites(fact: Parameters<typeof writesIn>[0], objectId: string): number {
  return writesIn(fact).filter((write) => write.objectId === objectId).length;
}
