/** Named leases: acquire, renew, release, break, wipe. Lines are in `machine.test.ts`. */
import { describe, expect, it } from 'vitest';
import {
  acquireGuard,
  acquireNames,
  breakName,
  type CommandBuilder,
  releaseName,
  renewName,
  TTL_MS,
  wipeNames,
  writeObject,
} from '../../test/support/commands.ts';
import { at, given, later, restart, restore, START_MS, type Step } from '../../test/support/scenario.ts';
import type { NameEnd } from './image.ts';
import { ORCHESTRATOR_GUARD } from './reserved-names.ts';

const END_MS = START_MS + TTL_MS;
const other = { holder: 'other', token: 'other token' };

/** How a name comes into each state, by the end of its newest lease. */
const WAYS: Record<NameEnd, readonly Step[]> = {
  none: [],
  live: [acquireNames()],
  released: [acquireNames(), releaseName()],
  expired: [acquireNames(), at(END_MS)],
  broken: [acquireNames(), breakName()],
  wiped: [acquireNames(), acquireGuard(), wipeNames()],
  restored: [acquireNames(), restore()],
};

type NameCommand = 'AcquireNames' | 'RenewName' | 'ReleaseName' | 'BreakName' | 'WriteObject';
const COMMANDS: Record<NameCommand, CommandBuilder> = {
  AcquireNames: acquireNames({ token: 'new token' }),
  RenewName: renewName({ ttlMs: 2 * TTL_MS }),
  ReleaseName: releaseName(),
  BreakName: breakName(),
  WriteObject: writeObject(),
};

/** What the last holder hears. A new end or command does not compile here until every cell says what happens. */
const TABLE: Record<NameEnd, Record<NameCommand, string>> = {
  none: cells('granted', 'LEASE_NOT_HELD', 'not released', 'LEASE_NOT_FOUND', 'WRITE_STALE_FENCE'),
  live: cells('granted', 'renewed', 'released', 'broken', 'written'),
  released: cells('granted', 'LEASE_NOT_HELD', 'not released', 'LEASE_NOT_FOUND', 'LEASE_EXPIRED'),
  expired: cells('granted', 'LEASE_EXPIRED', 'not released', 'LEASE_NOT_FOUND', 'LEASE_EXPIRED'),
  broken: cells('granted', 'LEASE_NOT_HELD', 'not released', 'LEASE_NOT_FOUND', 'LEASE_EXPIRED'),
  wiped: cells('granted', 'LEASE_NOT_HELD', 'not released', 'LEASE_NOT_FOUND', 'LEASE_EXPIRED'),
  restored: cells('granted', 'LEASE_NOT_HELD', 'not released', 'LEASE_NOT_FOUND', 'LEASE_EXPIRED'),
};

function cells(
  AcquireNames: string,
  RenewName: string,
  ReleaseName: string,
  BreakName: string,
  WriteObject: string,
): Record<NameCommand, string> {
  return { AcquireNames, RenewName, ReleaseName, BreakName, WriteObject };
}

function heard(command: NameCommand, answer: object | null): string {
  if (answer === null) return 'waits';
  if ('refused' in answer) return String(answer.refused);
  if ('released' in answer) return answer.released ? 'released' : 'not released';
  return {
    AcquireNames: 'granted',
    RenewName: 'renewed',
    BreakName: 'broken',
    WriteObject: 'written',
    ReleaseName: '',
  }[command];
}

describe('how a lease ended × command', () => {
  for (const end of Object.keys(TABLE) as NameEnd[]) {
    for (const command of Object.keys(TABLE[end]) as NameCommand[]) {
      it(`${end} × ${command}: ${TABLE[end][command]}`, () => {
        const story = given(...WAYS[end]);
        if (end !== 'none') story.thenName('name', { end });
        story.when(COMMANDS[command]);
        expect(heard(command, story.answer)).toBe(TABLE[end][command]);
      });
    }
  }
});

describe('acquiring a name', () => {
  it('gives the holder a lease with the position of the grant as its number', () => {
    given()
      .when(acquireNames({ ttlMs: 500, metadata: 'pid 7' }))
      .thenAnswers({
        leases: [
          {
            name: 'name',
            holder: 'holder',
            leaseSeq: 2,
            acquiredAtMs: START_MS,
            expiresAtMs: START_MS + 500,
            remainingMs: 500,
          },
        ],
        seq: 2,
        duplicate: false,
      })
      .thenRecords('NameLeased')
      .thenName('name', { end: 'live', holder: 'holder', leaseSeq: 2, metadata: { length: 5 } });
  });

  it('T2: a second holder gets LEASE_HELD with holder and remaining time of the lease in the way', () => {
    given(acquireNames(), later(1_000))
      .when(acquireNames(other))
      .thenRefuses('LEASE_HELD', { holder: 'holder', remainingMs: TTL_MS - 1_000 })
      .thenRecordsNothing();
  });

  it('never shows the token of the conflicting lease', () => {
    const story = given(acquireNames()).when(acquireNames(other));
    expect(JSON.stringify(story.answer)).not.toContain('token');
  });

  it('T3: the same holder with a new token gets a new grant; the old one is stale from then on', () => {
    const story = given(acquireNames());
    story
      .when(acquireNames({ token: 'second' }))
      .thenAnswers({ duplicate: false, leases: [{ leaseSeq: 3 }] })
      .thenRecords('NameLeased');
    const detail = 'holder holds this lease, but the token is not that of its current grant.';
    story.when(renewName()).thenRefuses('LEASE_NOT_HELD', { detail });
    story.when(renewName({ holder: 'other' })).thenRefuses('LEASE_NOT_HELD');
    story.when(releaseName()).thenAnswers({ released: false });
    story.when(writeObject({ lease: { leaseSeq: 2 } })).thenRefuses('WRITE_STALE_FENCE');
    story.when(renewName({ token: 'second' })).thenAnswers({ leases: [{ leaseSeq: 3 }] });
  });

  it('of a live guard anew takes its token, or an admin', () => {
    const guard = { names: ['free', 'system:reports'], isAdmin: false };
    const story = given(acquireNames({ ...guard, names: ['system:reports'] }));
    story
      .when(acquireNames({ ...guard, token: 'second' }))
      .thenRefuses('FORBIDDEN')
      .thenRecordsNothing();
    story.when(acquireNames({ ...guard, names: ['system:reports'] })).thenAnswers({ duplicate: true });
    story.when(acquireNames({ ...guard, ...other })).thenRefuses('LEASE_HELD');
    story.when(acquireNames({ ...guard, token: 'second', isAdmin: true })).thenRecords('NameLeased');
  });

  it('again with holder and token of the live grant gives the same grant and no entry', () => {
    given(acquireNames(), later(1_000))
      .when(acquireNames({ ttlMs: 999_999 }))
      .thenAnswers({
        duplicate: true,
        seq: 2,
        leases: [{ leaseSeq: 2, expiresAtMs: END_MS, remainingMs: TTL_MS - 1_000 }],
      })
      .thenRecordsNothing();
  });

  it.each([
    ['was released', releaseName()],
    ['ran out', at(END_MS)],
    ['was broken', breakName()],
  ] as const)('with the token of a grant that %s is refused: LEASE_NOT_HELD', (_, end) => {
    given(acquireNames(), end).when(acquireNames()).thenRefuses('LEASE_NOT_HELD');
  });

  it('with the token of another holder’s live grant is refused and reveals nothing', () => {
    given(acquireNames())
      .when(acquireNames({ holder: 'thief' }))
      .thenRefuses('LEASE_NOT_HELD');
  });

  it('T7: any caller may acquire it from the millisecond of its end', () => {
    given(acquireNames())
      .when(acquireNames(other), { atMs: END_MS - 1 })
      .thenRefuses('LEASE_HELD', { remainingMs: 1 })
      .when(acquireNames(other), { atMs: END_MS })
      .thenAnswers({ leases: [{ holder: 'other' }] })
      .thenRecords('NameExpired', 'NameLeased');
  });

  it('T6: any caller may acquire it after a release', () => {
    given(acquireNames(), releaseName())
      .when(acquireNames(other))
      .thenAnswers({ leases: [{ holder: 'other' }] });
  });

  it('INV-FENCE-MONOTONIC: every grant has a higher number than all before', () => {
    const story = given();
    let newest = 0;
    for (const [holder, token] of [
      ['a', '1'],
      ['a', '2'],
      ['a', '3'],
    ] as const) {
      story.when(acquireNames({ holder, token }));
      const { leaseSeq } = story.name('name');
      expect(leaseSeq).toBeGreaterThan(newest);
      newest = leaseSeq;
      story.given(writeObject());
    }
  });
});

describe('memory of tokens', () => {
  const grants = (count: number): Step[] =>
    Array.from({ length: count }, (_, index) => acquireNames({ token: `token ${index}` }));

  it('knows the tokens of the last sixteen grants before the newest', () => {
    const story = given(...grants(17));
    for (let index = 0; index < 16; index++) {
      story.when(acquireNames({ token: `token ${index}` })).thenRefuses('LEASE_NOT_HELD');
      story.when(renewName({ token: `token ${index}` })).thenRefuses('LEASE_NOT_HELD');
    }
    story.when(acquireNames({ token: 'token 16' })).thenAnswers({ duplicate: true });
  });

  it('survives a restart', () => {
    given(...grants(17), restart())
      .when(acquireNames({ token: 'token 0' }))
      .thenRefuses('LEASE_NOT_HELD')
      .when(acquireNames({ token: 'token 16' }))
      .thenAnswers({ duplicate: true });
  });

  it('has a bound', () => {
    expect(given(...grants(40)).name('name').pastTokens).toHaveLength(16);
  });
});

describe('acquiring several names', () => {
  it('takes all in one entry; they share one number', () => {
    const story = given().when(acquireNames({ names: ['a', 'b'] }));
    story.thenRecords('NameLeased').thenAnswers({
      leases: [
        { name: 'a', leaseSeq: 2 },
        { name: 'b', leaseSeq: 2 },
      ],
    });
    story.thenName('a', { leaseSeq: 2 }).thenName('b', { leaseSeq: 2 });
  });

  it('takes none when one is held', () => {
    const story = given(acquireNames({ names: ['b'] }))
      .when(acquireNames({ names: ['a', 'b'], ...other }))
      .thenRefuses('LEASE_HELD', { holder: 'holder', name: 'b' })
      .thenRecordsNothing();
    expect(story.state.names.find('a')).toBe(0);
  });

  it('takes none when the token belongs to an earlier grant of one of them', () => {
    given(acquireNames({ names: ['b'] }), releaseName({ name: 'b' }))
      .when(acquireNames({ names: ['a', 'b'] }))
      .thenRefuses('LEASE_NOT_HELD')
      .thenRecordsNothing();
  });

  it('again with the same holder and token gives the same grant', () => {
    given(acquireNames({ names: ['a', 'b'] }))
      .when(acquireNames({ names: ['a', 'b'] }))
      .thenAnswers({ duplicate: true, seq: 2, leases: [{ name: 'a' }, { name: 'b' }] })
      .thenRecordsNothing();
  });

  it('that the holder has in part are all granted anew', () => {
    given(acquireNames({ names: ['a'] }))
      .when(acquireNames({ names: ['a', 'b'], token: 'second' }))
      .thenAnswers({ leases: [{ leaseSeq: 3 }, { leaseSeq: 3 }] });
  });

  it.each<[string, Step[], string[]]>([
    ['in part', [acquireNames({ names: ['a'] })], ['a', 'b']],
    ['with others', [acquireNames({ names: ['a', 'b'] })], ['a', 'c']],
    ['by two grants', [acquireNames({ names: ['a'] }), acquireNames({ names: ['b'] })], ['a', 'b']],
  ])(
    'that the holder has %s under the same token are refused: it is the secret of one grant',
    (_, had, names) => {
      given(...had)
        .when(acquireNames({ names }))
        .thenRefuses('LEASE_NOT_HELD', { detail: 'The token belongs to a grant of other names.' })
        .thenRecordsNothing();
    },
  );

  it('of a grant of more names gives that very grant', () => {
    given(acquireNames({ names: ['a', 'b'] }))
      .when(acquireNames({ names: ['b'] }))
      .thenAnswers({ duplicate: true, seq: 2, leases: [{ name: 'b', leaseSeq: 2 }] })
      .thenRecordsNothing();
  });

  it('can be given back one by one', () => {
    given(acquireNames({ names: ['a', 'b'] }), releaseName({ name: 'a' }))
      .thenName('a', { end: 'released' })
      .thenName('b', { end: 'live' });
  });
});

describe('renewing a name', () => {
  it('moves the end and keeps token and number', () => {
    given(acquireNames(), later(1_000))
      .when(renewName())
      .thenAnswers({
        leases: [{ leaseSeq: 2, acquiredAtMs: START_MS, expiresAtMs: END_MS + 1_000, remainingMs: TTL_MS }],
        seq: 3,
      })
      .thenRecords('NameRenewed');
  });

  it('never shortens', () => {
    given(acquireNames())
      .when(renewName({ ttlMs: 10 }))
      .thenAnswers({ leases: [{ expiresAtMs: END_MS, remainingMs: TTL_MS }], seq: 2 })
      .thenRecordsNothing();
  });

  it('never resurrects: LEASE_EXPIRED from the millisecond of its end, whether or not another holder took it', () => {
    const story = given(acquireNames());
    story.when(renewName(), { atMs: END_MS }).thenRefuses('LEASE_EXPIRED').thenRecords('NameExpired');
    story
      .when(renewName(), { atMs: END_MS + 5 })
      .thenRefuses('LEASE_EXPIRED')
      .thenRecordsNothing();
    story.given(acquireNames(other));
    story.when(renewName()).thenRefuses('LEASE_NOT_HELD');
  });

  it('keeps the lease beyond its first end', () => {
    given(acquireNames(), later(TTL_MS - 1), renewName(), later(1))
      .thenName('name', { end: 'live' })
      .when(acquireNames(other), { atMs: END_MS + TTL_MS - 2 })
      .thenRefuses('LEASE_HELD', { remainingMs: 1 });
  });

  it.each([
    ['a wrong token', { token: 'wrong' }],
    ['a wrong holder', { holder: 'wrong' }],
  ])('with %s is refused: LEASE_NOT_HELD', (_, proof) => {
    given(acquireNames()).when(renewName(proof)).thenRefuses('LEASE_NOT_HELD').thenRecordsNothing();
  });
});

describe('releasing a name', () => {
  it('T5: with holder and token ends the lease', () => {
    given(acquireNames())
      .when(releaseName())
      .thenAnswers({ released: true, seq: 3 })
      .thenRecords('NameReleased')
      .thenName('name', { end: 'released', endedSeq: 3, endedAtMs: START_MS });
  });

  it.each([
    ['T4: a wrong token', { token: 'wrong' }],
    ['a wrong holder', { holder: 'wrong' }],
  ])('%s releases nothing', (_, proof) => {
    given(acquireNames())
      .when(releaseName(proof))
      .thenAnswers({ released: false })
      .thenRecordsNothing()
      .thenName('name', { end: 'live' });
  });

  it('is harmless twice, and when the lease is over or was never there', () => {
    given(acquireNames(), releaseName())
      .when(releaseName())
      .thenAnswers({ released: false })
      .thenRecordsNothing();
    given(acquireNames(), at(END_MS))
      .when(releaseName())
      .thenAnswers({ released: false })
      .thenRecordsNothing();
    given().when(releaseName()).thenAnswers({ released: false }).thenRecordsNothing();
  });

  it('from the millisecond of its end is too late', () => {
    given(acquireNames())
      .when(releaseName(), { atMs: END_MS })
      .thenAnswers({ released: false })
      .thenRecords('NameExpired');
  });
});

describe('breaking a lease', () => {
  it('ends it at once, with its reason', () => {
    given(acquireNames())
      .when(breakName({ reason: 'stuck' }))
      .thenAnswers({ name: 'name', leaseSeq: 2, holder: 'holder', seq: 3 })
      .thenRecordsEntry({ type: 'NameBroken', name: 'name', leaseSeq: 2, reason: 'stuck' })
      .thenName('name', { end: 'broken' });
  });

  it('ends only that grant, when one is given', () => {
    const story = given(acquireNames(), acquireNames({ token: 'second' }));
    story
      .when(breakName({ leaseSeq: 2 }))
      .thenRefuses('LEASE_NOT_CURRENT')
      .thenName('name', { end: 'live' });
    story.when(breakName({ leaseSeq: 3 })).thenRecords('NameBroken');
  });

  it('of a lease that is not held is refused: LEASE_NOT_FOUND', () => {
    given().when(breakName()).thenRefuses('LEASE_NOT_FOUND');
    given(acquireNames())
      .when(breakName(), { atMs: END_MS })
      .thenRefuses('LEASE_NOT_FOUND')
      .thenRecords('NameExpired');
  });
});

describe('wiping', () => {
  const leases = [
    acquireNames({ names: ['lease:a'] }),
    acquireNames({ names: ['lease:b'], ...other }),
    acquireNames({ names: ['other'] }),
    acquireNames({ names: ['system:another'] }),
  ];

  it('ends every lease under the prefix in one entry', () => {
    given(...leases, acquireGuard())
      .when(wipeNames({ prefix: 'lease:' }))
      .thenAnswers({ wiped: 2, seq: 7 })
      .thenRecords('NamesWiped')
      .thenName('lease:a', { end: 'wiped', endedSeq: 7 })
      .thenName('lease:b', { end: 'wiped', endedSeq: 7 })
      .thenName('other', { end: 'live' });
  });

  it('with an empty prefix ends all but the guards', () => {
    given(...leases, acquireGuard())
      .when(wipeNames())
      .thenAnswers({ wiped: 3 })
      .thenName('other', { end: 'wiped' })
      .thenName('system:another', { end: 'live' })
      .thenName(ORCHESTRATOR_GUARD, { end: 'live' });
  });

  it('is a fact even when there was nothing to end', () => {
    given(acquireGuard()).when(wipeNames()).thenAnswers({ wiped: 0 }).thenRecords('NamesWiped');
  });

  it.each<[string, readonly Step[], CommandBuilder]>([
    ['the guard is not held', [], wipeNames()],
    ['another holds the guard', [acquireGuard(other)], wipeNames()],
    ['the token is wrong', [acquireGuard()], wipeNames({ token: 'wrong' })],
    ['the holder is wrong', [acquireGuard()], wipeNames({ holder: 'wrong' })],
    ['the guard has run out', [acquireGuard(), at(END_MS)], wipeNames()],
    ['the guard was released', [acquireGuard(), releaseName({ name: ORCHESTRATOR_GUARD })], wipeNames()],
    [
      'it is not the guard of orchestrators',
      [acquireNames({ names: ['system:mine'] })],
      wipeNames({ guard: 'system:mine' }),
    ],
  ])('touches nothing when %s: GUARD_NOT_HELD', (_, steps, command) => {
    given(acquireNames({ names: ['lease:a'], ttlMs: 10 * TTL_MS }), ...steps)
      .when(command)
      .thenRefuses('GUARD_NOT_HELD')
      .thenName('lease:a', { end: 'live' });
  });

  it('at the very end of the guard is refused', () => {
    given(acquireGuard())
      .when(wipeNames(), { atMs: END_MS - 1 })
      .thenAnswers({ wiped: 0 })
      .when(wipeNames(), { atMs: END_MS })
      .thenRefuses('GUARD_NOT_HELD');
  });
});

describe('a restore', () => {
  it('ends every lease and lifts every number far above all earlier ones', () => {
    const story = given(acquireNames(), acquireNames({ names: ['another'] }), restore());
    story.thenName('name', { end: 'restored' }).thenName('another', { end: 'restored' });
    story.when(acquireNames(other));
    expect(story.name('name').leaseSeq).toBeGreaterThan(2 ** 40);
    story.when(writeObject({ lease: { leaseSeq: 2 } })).thenRefuses('WRITE_STALE_FENCE');
  });
});

describe('a name that goes from hand to hand', () => {
  it('keeps no more strings than it needs', () => {
    const story = given();
    for (const holder of ['a', 'b', 'c', 'd', 'e']) {
      story.given(acquireNames({ holder, token: holder }), releaseName({ holder, token: holder }));
    }
    expect(story.state.tasks.strings.size).toBe(2);
  });
});
