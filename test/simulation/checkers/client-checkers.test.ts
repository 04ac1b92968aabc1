// The checkers of what clients did and received, on hand-written histories: lines, deadlines, losses, two programs at
// once, replays, and whether every caller was served in the end.
import { describe, expect, it } from 'vitest';
import { aborts } from './aborts.ts';
import { exclusive } from './exclusive.ts';
import { inTime } from './in-time.ts';
import { limitedLines } from './limited-lines.ts';
import { lineOrder } from './line-order.ts';
import { liveness } from './liveness.ts';
import { lostGuards } from './lost-guards.ts';
import { noBugs } from './no-bugs.ts';
import { replays } from './replays.ts';
import { at, complaints, Story } from './story.ts';

describe('the order of a line', () => {
  const asks = (story: Story, holder: string, waitMs = 5_000, names?: string[]) =>
    story.call(
      names === undefined ? 'lease.acquire' : 'lease.acquire_all',
      {
        ...(names ? { names } : { name: 'a' }),
        holder,
        token: `token of ${holder}`,
        ttl_ms: 100,
        wait_ms: waitMs,
      },
      holder,
    );
  const grants = (story: Story, id: number, holder: string, names: string | string[] = 'a') => {
    story.leased(names, holder, 100);
    return story.answer(id, story.grantBody('a', holder, story.lastSeq, story.nowMs, 100));
  };

  it('is that of arrival', () => {
    const story = new Story();
    const [first, second] = [asks(story, 'x'), asks(story, 'y')];
    expect(complaints(lineOrder, grants(grants(story, first, 'x'), second, 'y'))).toEqual([]);
  });

  it('is broken when one who came later is served first', () => {
    const story = new Story();
    const [first, second] = [asks(story, 'x'), asks(story, 'y')];
    expect(complaints(lineOrder, grants(grants(story, second, 'y'), first, 'x'))).toEqual([
      expect.stringContaining('x asked for a before y'),
    ]);
  });

  it('is broken by one who does not even wait', () => {
    const story = new Story();
    const [first, second] = [asks(story, 'x'), asks(story, 'y', 0)];
    expect(complaints(lineOrder, grants(grants(story, second, 'y'), first, 'x'))).toHaveLength(1);
  });

  it('holds for each of several names', () => {
    const story = new Story();
    const first = asks(story, 'x', 5_000, ['b', 'a']);
    const second = asks(story, 'y');
    expect(complaints(lineOrder, grants(grants(story, second, 'y'), first, 'x', ['b', 'a']))).toHaveLength(1);
  });

  it('is not broken by who takes again what it holds', () => {
    const story = new Story().leased('a', 'y', 100);
    const [first, second] = [asks(story, 'x'), asks(story, 'y')];
    grants(story, second, 'y').ended('NameReleased', 'a', 2);
    expect(complaints(lineOrder, grants(story, first, 'x'))).toEqual([]);
  });

  it('ends with the wait: nothing is granted later', () => {
    const waits = (lateMs: number) => {
      const story = new Story();
      const id = asks(story, 'x', 100);
      story.acquire('b', 'z').later(lateMs);
      return grants(story, id, 'x');
    };
    expect(complaints(lineOrder, waits(50))).toEqual([]);
    expect(complaints(lineOrder, waits(100))).toEqual([expect.stringContaining('waited 100 ms')]);
  });
});

describe('aborts', () => {
  const held = () => new Story().acquire('a', 'x', 100).held(1, 1, ['a']);

  it('come before or at the deadline', () => {
    expect(complaints(aborts, held().used(1).later(40).lost(1).later(500))).toEqual([]);
  });

  it('are missed when they come late, or never', () => {
    expect(complaints(aborts, held().later(150).lost(1))).toEqual([expect.stringContaining('is told at')]);
    expect(complaints(aborts, held().later(150).boot())).toEqual([expect.stringContaining('no time')]);
  });

  it('are not expected of who gave the lease back, died, or stood still', () => {
    const back = held().note({ kind: 'released', client: 'c1', handle: 1 }).later(500).boot();
    expect(complaints(aborts, back)).toEqual([]);
    const death = { kind: 'death', node: 'c1', cause: 'kill', why: '', lastSeq: 0 } as const;
    expect(complaints(aborts, held().note(death).later(500).boot())).toEqual([]);
    expect(complaints(aborts, held().fault('process.pause', 'c1').later(500).lost(1))).toEqual([]);
    expect(
      complaints(aborts, held().note({ kind: 'blocked', client: 'c1', forMs: 400 }).later(500).lost(1)),
    ).toEqual([]);
  });

  it('do not excuse the use of a lease that can no longer be relied on, even of who stood still', () => {
    const story = held().fault('process.pause', 'c1').later(500).used(1).lost(1);
    expect(complaints(aborts, story)).toEqual([expect.stringContaining('could rely on until')]);
  });

  it('count from before the question, not from its answer', () => {
    const story = new Story();
    const id = story.call('lease.acquire', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 100 });
    story
      .leased('a', 'x', 100)
      .later(80)
      .answer(id, story.grantBody('a', 'x', 1, 2, 100));
    story.held(1, 1, ['a']).later(40).used(1).lost(1);
    expect(complaints(aborts, story)).toContainEqual(expect.stringContaining('could rely on until 100'));
  });
});

describe('lost guards', () => {
  const lost = () => new Story().held(1, 1, ['system:orchestrator:guard_lock'], 'c1', true).used(1).lost(1);

  it('are never used again', () => {
    expect(complaints(lostGuards, lost())).toEqual([]);
    expect(complaints(lostGuards, lost().used(1))).toEqual([expect.stringContaining('after it was lost')]);
  });

  it('wipe nothing', () => {
    const story = lost();
    story.call('lease.wipe', { prefix: '', guard: { name: 'g', holder: 'x', token: 't' } });
    expect(complaints(lostGuards, story)).toEqual([expect.stringContaining('wipes after')]);
  });
});

describe('two programs', () => {
  const passedOn = (end: 'NameExpired' | 'NameBroken') =>
    new Story()
      .leased('a', 'x', 10)
      .held(1, 1, ['a'])
      .used(1)
      .later(20)
      .ended(end, 'a', 1)
      .leased('a', 'y', 10)
      .held(2, 3, ['a'], 'c2');

  it('work one after the other', () => {
    expect(complaints(exclusive, passedOn('NameExpired').used(2, 'c2'))).toEqual([]);
  });

  it('never work at once after a lease has run out', () => {
    expect(complaints(exclusive, passedOn('NameExpired').used(1))).toEqual([
      expect.stringContaining('c1 works on a under 1 while c2 holds 3'),
    ]);
  });

  it('may, for a moment, when an authority that slept restarted: it adopts the wall clock', () => {
    const slept = (isRestarted: boolean): Story => {
      const story = new Story()
        .clock('clock.suspend', 300, 'authority')
        .leased('a', 'x', 10)
        .held(1, 1, ['a']);
      if (isRestarted) story.boot(2, 2);
      const end = story.later(10).lastSeq + 1;
      return story
        .ended('NameExpired', 'a', 1)
        .leased('a', 'y', 10)
        .held(2, end + 1, ['a'], 'c2')
        .used(1);
    };
    expect(complaints(exclusive, slept(false))).toHaveLength(1);
    expect(complaints(exclusive, slept(true))).toEqual([]);
  });

  it('may, for a moment, when the lease of the first was broken or the clock was set', () => {
    expect(complaints(exclusive, passedOn('NameBroken').used(1))).toEqual([]);
    expect(complaints(exclusive, passedOn('NameExpired').fault('clock.jump', 'authority').used(1))).toEqual(
      [],
    );
  });
});

describe('workers that wait', () => {
  const waiting = (isLeased: boolean): Story => {
    const story = new Story().created('t', { queue: 'jobs', priority: 0 });
    // The first entry of the next epoch is shown to no stream; what follows was seen.
    story.boot(story.lastSeq + 1, 2);
    if (isLeased) story.granted('t');
    else story.created('u', { queue: 'other', priority: 0 });
    const id = story.call('task.lease', { worker_id: 'w', queues: ['jobs'], max: 1, wait_ms: 3_000 });
    return story.later(3_000).answer(id, { leases: [] });
  };

  it('get nothing only while there is nothing for them', () => {
    expect(complaints(limitedLines, waiting(true))).toEqual([]);
    expect(complaints(limitedLines, waiting(false))).toEqual([expect.stringContaining('gets nothing')]);
  });
});

describe('replays', () => {
  const looked = (hash: string, replaySeq: number) =>
    new Story().note({ kind: 'state', node: 'n', lastSeq: 3, hash: 'h', replayHash: hash, replaySeq });

  it('give the live state', () => {
    expect(complaints(replays, looked('h', 3))).toEqual([]);
    expect(complaints(replays, looked('other', 3))).toHaveLength(1);
    expect(complaints(replays, looked('h', 2))).toHaveLength(1);
  });
});

describe('liveness', () => {
  const quiet = () => new Story().note({ kind: 'quiet' });

  it('finds who is stuck at the end', () => {
    const stuck = { kind: 'stuck', client: 'c1', what: 'a wait', sinceMs: 0 } as const;
    expect(complaints(liveness, quiet())).toEqual([]);
    expect(complaints(liveness, quiet().note(stuck))).toEqual([expect.stringContaining('c1 still waits')]);
  });

  it('bounds every answer after the faults, beyond the wait that was asked for', () => {
    const answered = (waitMs: number, tookMs: number) => {
      const story = quiet();
      const id = story.call('lease.acquire', { name: 'a', wait_ms: waitMs });
      return story.later(tookMs).refuse(id, 'LEASE_HELD');
    };
    expect(complaints(liveness, answered(600_000, 610_000))).toEqual([]);
    expect(complaints(liveness, answered(0, 70_000))).toHaveLength(1);
  });
});

describe('bugs', () => {
  it('are deaths by assertion and broken promises', () => {
    const death = { kind: 'death', node: 'n', why: 'INV', lastSeq: 0 } as const;
    expect(complaints(noBugs, new Story().note({ ...death, cause: 'fault' }))).toEqual([]);
    expect(complaints(noBugs, new Story().note({ ...death, cause: 'bug' }))).toHaveLength(1);
    expect(complaints(noBugs, new Story().note({ kind: 'broken', who: 'w', says: 's' }))).toHaveLength(1);
  });

  it('are starts refused although nothing was damaged', () => {
    const refused = (error: string) => ({ kind: 'refused-boot', node: 'n', error, message: 'm' }) as const;
    const damaged = () => new Story().fault('disk.truncate', 'authority', { may: 'refuse' });
    expect(complaints(noBugs, new Story().note(refused('LogHeldError')))).toEqual([]);
    expect(complaints(noBugs, new Story().note(refused('LogDamagedError')))).toHaveLength(1);
    expect(complaints(noBugs, damaged().note(refused('LogDamagedError')))).toEqual([]);
    expect(complaints(noBugs, damaged().note(refused('TypeError')))).toHaveLength(1);
  });
});

describe('the end of a lease by the clock of the authority', () => {
  /** A lease of 1 s from 100 ms on, used when the authority says it is so late. */
  const usedAt = (ms: number, epoch = 1, clocks: (story: Story) => Story = (story) => story): Story => {
    const story = new Story().boot().later(97).acquire('a', 'x', 1_000);
    const authority = { atMs: Date.parse(at(ms)), epoch };
    return clocks(story.held(1, story.lastSeq, ['a'])).used(1, 'c1', authority);
  };

  it('is when no handle says "held" any more, to the millisecond', () => {
    expect(complaints(inTime, usedAt(1_099))).toEqual([]);
    expect(complaints(inTime, usedAt(1_100))).toEqual(['c1 relies on 2 0 ms after its end']);
    expect(complaints(inTime, usedAt(1_350))).toEqual(['c1 relies on 2 250 ms after its end']);
  });

  it('moves with a renewal that the authority has decided by then', () => {
    const renewed = usedAt(1_000).renewed('a', 2, 2_000);
    expect(complaints(inTime, renewed.used(1, 'c1', { atMs: Date.parse(at(1_999)), epoch: 1 }))).toEqual([]);
    expect(complaints(inTime, renewed.used(1, 'c1', { atMs: Date.parse(at(2_000)), epoch: 1 }))).toHaveLength(
      1,
    );
  });

  it('is not judged by the clock of another epoch, nor while no authority runs', () => {
    expect(complaints(inTime, usedAt(9_000, 2))).toEqual([]);
    expect(complaints(inTime, usedAt(1_000).used(1, 'c1', null))).toEqual([]);
  });

  it('excuses a client of which both clocks have lost time, and no other', () => {
    const clocks = (...faults: readonly ['clock.jump' | 'clock.suspend', number][]): Story =>
      usedAt(1_500, 1, (story) => {
        for (const [fault, byMs] of faults) story.clock(fault, byMs);
        return story;
      });
    expect(complaints(inTime, clocks(['clock.suspend', 0], ['clock.jump', -500]))).toEqual([]);
    expect(complaints(inTime, clocks(['clock.suspend', 0]))).toHaveLength(1);
    expect(complaints(inTime, clocks(['clock.jump', -500]))).toHaveLength(1);
    expect(complaints(inTime, clocks(['clock.suspend', 0], ['clock.jump', 500]))).toHaveLength(1);
  });
});
