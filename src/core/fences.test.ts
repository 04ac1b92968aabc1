/** Fenced writes: the seven checks in their order, and the invariants of seed 003. */
import { describe, expect, it } from 'vitest';
import {
  acquireNames,
  breakName,
  deleteObject,
  releaseName,
  TTL_MS,
  writeObject,
} from '../../test/support/commands.ts';
import { at, given, later, restart, START_MS, type Step, scenario } from '../../test/support/scenario.ts';
import type { PresentedLease } from './commands.ts';
import type { RefusalCode } from './refusals.ts';

const END_MS = START_MS + TTL_MS;

/** The order of the contract. */
const ORDER = [
  'WRITE_UNFENCED',
  'LEASE_OBJECT_MISMATCH',
  'WRITE_STALE_FENCE',
  'WRITE_UNKNOWN_FENCE',
  'LEASE_HOLDER_MISMATCH',
  'LEASE_EXPIRED',
  'VERSION_MISMATCH',
] as const satisfies readonly RefusalCode[];
type Check = (typeof ORDER)[number];

interface Attempt {
  readonly lease: Partial<PresentedLease>;
  readonly ifVersion: number | null;
  readonly after: readonly Step[];
}

/**
 * One fault for each check, laid over a write that would have passed. A fault of check n must not hide one of
 * check m < n, so any two laid over each other must answer with the earlier one. Stale and unknown exclude
 * each other, and so do "not this object's number" and "this object's lease is over".
 */
const FAULTS: Record<Check, (attempt: Attempt) => Attempt> = {
  WRITE_UNFENCED: (attempt) => ({ ...attempt, lease: { ...attempt.lease, leaseSeq: null } }),
  LEASE_OBJECT_MISMATCH: (attempt) => ({ ...attempt, lease: { ...attempt.lease, objectId: 'another' } }),
  WRITE_STALE_FENCE: (attempt) => ({ ...attempt, lease: { ...attempt.lease, leaseSeq: 2 } }),
  WRITE_UNKNOWN_FENCE: (attempt) => ({ ...attempt, lease: { ...attempt.lease, leaseSeq: 9_999 } }),
  LEASE_HOLDER_MISMATCH: (attempt) => ({ ...attempt, lease: { ...attempt.lease, holderId: 'somebody' } }),
  LEASE_EXPIRED: (attempt) => ({ ...attempt, after: [at(END_MS)] }),
  VERSION_MISMATCH: (attempt) => ({ ...attempt, ifVersion: 77 }),
};

/** Two grants of the name, the second one live, and one write under it. */
const GIVEN: readonly Step[] = [
  acquireNames({ token: 'first' }),
  acquireNames({ token: 'second' }),
  writeObject({ value: 'before' }),
];
const LEASE_SEQ = 3;
const SOUND: Attempt = {
  lease: { leaseSeq: LEASE_SEQ, objectId: 'name', holderId: 'holder' },
  ifVersion: 1,
  after: [],
};

function attempted({ lease, ifVersion, after }: Attempt, verb: 'write' | 'delete') {
  const story = given(...GIVEN, ...after);
  const version = ifVersion === null ? {} : { ifVersion };
  return story.when(
    verb === 'write' ? writeObject({ lease, ...version }) : deleteObject({ lease, ...version }),
  );
}

describe.each(['write', 'delete'] as const)('the checks of a %s', (verb) => {
  it('let a sound one pass', () => {
    attempted(SOUND, verb).thenAnswers({ objectId: 'name', version: 2, leaseSeq: LEASE_SEQ, seq: 5 });
  });

  for (const [index, check] of ORDER.entries()) {
    it(`${index + 1}: ${check} on its own`, () => {
      attempted(FAULTS[check](SOUND), verb)
        .thenRefuses(check)
        .thenName('name', { version: 1, object: { value: { length: 6 } } });
    });
    for (const later of ORDER.slice(index + 1)) {
      if (check === 'WRITE_STALE_FENCE' && later === 'WRITE_UNKNOWN_FENCE') continue;
      it(`${index + 1}: ${check} comes before ${later}`, () => {
        attempted(FAULTS[check](FAULTS[later](SOUND)), verb).thenRefuses(check);
      });
    }
  }

  it('answer with the first that fails when all fail', () => {
    const all = ORDER.reduceRight((attempt, check) => FAULTS[check](attempt), SOUND);
    attempted(all, verb).thenRefuses('WRITE_UNFENCED');
  });
});

describe('a write', () => {
  it('by the holder of the lease makes a new version', () => {
    const story = given(acquireNames());
    story
      .when(writeObject({ value: 'one' }))
      .thenAnswers({ objectId: 'name', version: 1, leaseSeq: 2, seq: 3 });
    story
      .thenRecords('ObjectWritten')
      .thenName('name', { version: 1, object: { value: { length: 3 }, version: 1, leaseSeq: 2, seq: 3 } });
    story.when(writeObject({ value: 'three' })).thenAnswers({ version: 2, seq: 4 });
    story.thenName('name', { object: { value: { length: 5 }, seq: 4 } });
  });

  it('INV-FENCE-REJECT-UNFENCED: without a lease, or without a number in it, is rejected with WRITE_UNFENCED', () => {
    const story = given(acquireNames());
    story
      .when(writeObject({ lease: null }))
      .thenRefuses('WRITE_UNFENCED', { fence: 2 })
      .thenRecordsNothing();
    story.when(writeObject({ lease: { leaseSeq: null } })).thenRefuses('WRITE_UNFENCED', { fence: 2 });
  });

  it('INV-FENCE-REJECT-STALE: with a number below the fence is rejected with WRITE_STALE_FENCE', () => {
    given(acquireNames(), releaseName(), acquireNames({ holder: 'next', token: 'next' }))
      .when(writeObject({ lease: { leaseSeq: 2 } }))
      .thenRefuses('WRITE_STALE_FENCE', { fence: 4 })
      .thenRecordsNothing();
  });

  it('INV-FENCE-LINKED: a lease cannot be used to write to a different object', () => {
    const story = given(
      acquireNames({ names: ['mine'] }),
      acquireNames({ names: ['yours'], holder: 'you', token: 'yours' }),
    );
    const lease = { leaseSeq: 2 };
    story.when(writeObject({ objectId: 'yours', lease })).thenRefuses('LEASE_OBJECT_MISMATCH');
    story
      .when(writeObject({ objectId: 'yours', lease: { ...lease, objectId: 'mine' } }))
      .thenRefuses('LEASE_OBJECT_MISMATCH');
    story.when(writeObject({ objectId: 'unknown', lease })).thenRefuses('LEASE_OBJECT_MISMATCH');
    story
      .when(writeObject({ objectId: 'mine', lease: { ...lease, objectId: 'mine' } }))
      .thenAnswers({ version: 1 });
  });

  it('is judged by the fence once the lease of the other name is over', () => {
    given(
      acquireNames({ names: ['mine'] }),
      releaseName({ name: 'mine' }),
      acquireNames({ names: ['yours'] }),
    )
      .when(writeObject({ objectId: 'yours', lease: { leaseSeq: 2 } }))
      .thenRefuses('WRITE_STALE_FENCE');
  });

  it('may use one number for each of the names taken together', () => {
    const story = given(acquireNames({ names: ['a', 'b'] }));
    for (const objectId of ['a', 'b'])
      story.when(writeObject({ objectId, lease: { leaseSeq: 2 } })).thenAnswers({ version: 1 });
    story.given(breakName({ name: 'a' }));
    story.when(writeObject({ objectId: 'b', lease: { leaseSeq: 2 } })).thenAnswers({ version: 2 });
  });

  it('with a number never granted for the object is rejected: WRITE_UNKNOWN_FENCE', () => {
    given(acquireNames())
      .when(writeObject({ lease: { leaseSeq: 3 } }))
      .thenRefuses('WRITE_UNKNOWN_FENCE', { fence: 2 });
  });

  it('to a forgotten name is stale up to the end of the log and unknown beyond', () => {
    const story = scenario({ retention: { idleNamesMs: 10 } }).given(
      acquireNames(),
      releaseName(),
      later(10),
    );
    expect(story.state.names.find('name')).toBe(0);
    const end = story.state.lastSeq;
    const fence = end + 1;
    story.when(writeObject({ lease: { leaseSeq: 2 } })).thenRefuses('WRITE_STALE_FENCE', { fence });
    story.when(writeObject({ lease: { leaseSeq: end } })).thenRefuses('WRITE_STALE_FENCE', { fence });
    story.when(writeObject({ lease: { leaseSeq: end + 1 } })).thenRefuses('WRITE_UNKNOWN_FENCE', { fence });
    story.when(writeObject({ lease: { leaseSeq: end + 2 } })).thenRefuses('WRITE_UNKNOWN_FENCE');
    story.thenRecordsNothing();
  });

  it('from the millisecond the lease ends is rejected: LEASE_EXPIRED', () => {
    given(acquireNames())
      .when(writeObject(), { atMs: END_MS - 1 })
      .thenAnswers({ version: 1 })
      .when(writeObject(), { atMs: END_MS })
      .thenRefuses('LEASE_EXPIRED', { fence: 2 })
      .thenRecords('NameExpired');
  });

  it.each([
    ['released', releaseName()],
    ['broken', breakName()],
  ] as const)('after the lease was %s is rejected: LEASE_EXPIRED', (_, end) => {
    given(acquireNames(), end).when(writeObject()).thenRefuses('LEASE_EXPIRED');
  });

  it('survives its lease: the next holder continues from there', () => {
    given(
      acquireNames(),
      writeObject({ value: 'old' }),
      releaseName(),
      restart(),
      acquireNames({ holder: 'next', token: 'next' }),
    )
      .thenName('name', { version: 1, object: { leaseSeq: 2 } })
      .when(writeObject({ ifVersion: 1 }))
      .thenAnswers({ version: 2 });
  });

  it('may ask for a version: 0 is "not there yet"', () => {
    const story = given(acquireNames());
    story.when(writeObject({ ifVersion: 1 })).thenRefuses('VERSION_MISMATCH');
    story.when(writeObject({ ifVersion: 0 })).thenAnswers({ version: 1 });
    story.when(writeObject({ ifVersion: 0 })).thenRefuses('VERSION_MISMATCH');
    story.when(writeObject({ ifVersion: 1 })).thenAnswers({ version: 2 });
  });
});

describe('deleting an object', () => {
  it('needs the same lease and counts as a version', () => {
    const story = given(acquireNames(), writeObject());
    story.when(deleteObject({ lease: null })).thenRefuses('WRITE_UNFENCED');
    story
      .when(deleteObject())
      .thenAnswers({ objectId: 'name', version: 2, leaseSeq: 2, seq: 4 })
      .thenRecords('ObjectDeleted');
    story.thenName('name', { version: 2, object: null, end: 'live' });
  });

  it('that is not there is refused: OBJECT_NOT_FOUND', () => {
    given(acquireNames()).when(deleteObject()).thenRefuses('OBJECT_NOT_FOUND').thenRecordsNothing();
    given(acquireNames(), writeObject(), deleteObject()).when(deleteObject()).thenRefuses('OBJECT_NOT_FOUND');
  });

  it('never lets a version come twice', () => {
    given(acquireNames(), writeObject(), deleteObject())
      .when(writeObject({ ifVersion: 0 }))
      .thenAnswers({ version: 3 })
      .thenName('name', { object: { version: 3 } });
  });
});
