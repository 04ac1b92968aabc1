// The checkers that judge the log, on histories written by hand: each finds nothing in a good one, and in the same one with
// a single thing wrong it finds just that.
import { describe, expect, it } from 'vitest';
import { askedFor } from './asked-for.ts';
import { bulk } from './bulk.ts';
import { durable } from './durable.ts';
import { fencedWrites } from './fenced-writes.ts';
import { numbersGrow } from './numbers-grow.ts';
import { oneHolder } from './one-holder.ts';
import { retention } from './retention.ts';
import { slots } from './slots.ts';
import { at, complaints, Story } from './story.ts';
import { taskRules } from './task-rules.ts';

const JUMP = 2 ** 40;

describe('at most one holder', () => {
  const good = () => new Story().leased('a', 'x').ended('NameReleased', 'a', 1).leased('a', 'y');

  it('accepts a name that goes from hand to hand', () => {
    const story = good().renewed('a', 3, 5_000).later(6_000).ended('NameExpired', 'a', 3).leased('a', 'z');
    expect(complaints(oneHolder, story)).toEqual([]);
  });

  it('accepts the same holder taking its name again', () => {
    expect(complaints(oneHolder, good().leased('a', 'y'))).toEqual([]);
  });

  it('complains of a grant while another holder has the name', () => {
    expect(complaints(oneHolder, good().leased('a', 'z'))).toEqual([
      expect.stringContaining('while y holds it'),
    ]);
  });

  it('complains of one name out of several', () => {
    expect(complaints(oneHolder, good().leased(['b', 'a'], 'z'))).toHaveLength(1);
  });

  it('complains of a grant after an end that was never written', () => {
    const story = good().later(1_000).leased('a', 'z');
    expect(complaints(oneHolder, story)).toEqual([expect.stringContaining('never written')]);
  });

  it('complains of a renewal at the very end, which is too late, and not a millisecond before', () => {
    const held = () => {
      const story = new Story().leased('a', 'x', 100);
      story.nowMs = 99;
      return story;
    };
    expect(complaints(oneHolder, held().renewed('a', 1, 500))).toEqual([]);
    expect(complaints(oneHolder, held().later(1).renewed('a', 1, 500))).toEqual([
      expect.stringContaining('but it ended'),
    ]);
  });

  it('complains of an end before its time, and not at its time', () => {
    const held = () => {
      const story = new Story().leased('a', 'x', 100);
      story.nowMs = 100;
      return story;
    };
    expect(complaints(oneHolder, held().ended('NameExpired', 'a', 1))).toEqual([]);
    expect(complaints(oneHolder, held().later(-1).ended('NameExpired', 'a', 1))).toEqual([
      expect.stringContaining('before its end'),
    ]);
  });

  it('complains of a renewal that shortens, of another lease, or of one that is over', () => {
    expect(complaints(oneHolder, new Story().leased('a', 'x').renewed('a', 1, 500))).toHaveLength(1);
    expect(complaints(oneHolder, new Story().leased('a', 'x').renewed('a', 7, 5_000))).toHaveLength(1);
    const over = new Story().leased('a', 'x').ended('NameReleased', 'a', 1).renewed('a', 1, 5_000);
    expect(complaints(oneHolder, over)).toHaveLength(1);
  });

  it('complains of a wipe without the guard, and of one that counts wrongly', () => {
    const guarded = () => new Story().leased('system:orchestrator:guard_lock', 'g').leased('a', 'x');
    expect(complaints(oneHolder, guarded().entry('NamesWiped', { prefix: '', count: 1 }))).toEqual([]);
    expect(complaints(oneHolder, guarded().entry('NamesWiped', { prefix: '', count: 2 }))).toHaveLength(1);
    expect(complaints(oneHolder, good().entry('NamesWiped', { prefix: '', count: 1 }))).toHaveLength(1);
  });

  it('accepts a task that is leased, extended and completed, and complains of a second lease', () => {
    const leased = () => new Story().created('t').granted('t');
    const extended = { new_expiry_timestamp: at(9_000) };
    const done = leased().onTask('LeaseExtended', 't', 2, extended).onTask('TaskCompleted', 't', 2);
    expect(complaints(oneHolder, done)).toEqual([]);
    expect(complaints(oneHolder, leased().granted('t', 2))).toHaveLength(1);
    expect(complaints(oneHolder, leased().later(1_000).onTask('TaskCompleted', 't', 2))).toHaveLength(1);
    expect(complaints(oneHolder, leased().onTask('TaskFailed', 't', 1))).toHaveLength(1);
  });
});

describe('fenced writes', () => {
  const held = () => new Story().leased('a', 'x').written('a', 1, 1);

  it('accepts the writes of the holder', () => {
    expect(complaints(fencedWrites, held().written('a', 1, 2))).toEqual([]);
  });

  it('complains of a write below the fence', () => {
    const story = held().ended('NameReleased', 'a', 1).leased('a', 'y').written('a', 1, 2);
    expect(complaints(fencedWrites, story)).toEqual([expect.stringContaining('the fence is 4')]);
  });

  it('complains of a write after the lease ended, by an entry or by the clock', () => {
    const released = held().ended('NameReleased', 'a', 1).written('a', 1, 2);
    expect(complaints(fencedWrites, released)).toEqual([expect.stringContaining('is over')]);
    const expired = held().later(1_000).written('a', 1, 2);
    expect(complaints(fencedWrites, expired)).toEqual([expect.stringContaining('which ended at')]);
  });

  it('complains of a version that is left out or comes twice', () => {
    expect(complaints(fencedWrites, held().written('a', 1, 3))).toHaveLength(1);
    expect(complaints(fencedWrites, held().written('a', 1, 1))).toHaveLength(1);
  });

  it('judges the writes of a completed task alike', () => {
    const done = (leaseSeq: number) =>
      held()
        .created('t')
        .granted('t')
        .onTask('TaskCompleted', 't', 4, { writes: [{ object_id: 'a', lease_seq: leaseSeq, version: 2 }] });
    expect(complaints(fencedWrites, done(1))).toEqual([]);
    expect(complaints(fencedWrites, done(4))).toHaveLength(1);
  });
});

describe('numbers that grow', () => {
  it('accepts a restart, and a restore that jumps ahead', () => {
    const story = new Story().boot().leased('a', 'x').boot(3, 2).leased('a', 'x');
    expect(complaints(numbersGrow, story.restored(2, 4).leased('a', 'y'))).toEqual([]);
  });

  it('accepts a backup that holds what the disk had lost since', () => {
    const story = new Story().boot().leased('a', 'x').leased('b', 'x');
    const madeAtMs = story.nowMs;
    story.fault('disk.truncate', 'authority', { may: 'lose', fromSeq: 2 }).boot(2, 2).leased('c', 'y');
    story.restored(3, 4, { madeAtMs }).leased('a', 'y', 10);
    for (const checker of [numbersGrow, oneHolder, durable]) expect(complaints(checker, story)).toEqual([]);
  });

  it('accepts a backup from before an earlier restore, and knows what is in it again', () => {
    const story = new Story().boot().leased('a', 'x');
    const madeAtMs = story.nowMs;
    const first = story.ended('NameReleased', 'a', 2).restored(2, 3, { seq: 5_000 + JUMP });
    const second = first.leased('b', 'x').restored(3, 3, { madeAtMs, seq: 6_000 + JUMP });
    for (const checker of [numbersGrow, oneHolder, durable]) {
      expect(complaints(checker, second.leased('a', 'y'))).toEqual([]);
    }
  });

  it('accepts a backup that takes the place of a restored one before a server starts from that', () => {
    const story = new Story().boot().leased('a', 'x');
    const madeAtMs = story.nowMs;
    const unused = { may: 'restore', madeAtMs, lastSeq: 2, seq: 5_000 + JUMP } as const;
    story.ended('NameReleased', 'a', 2).fault('disk.restore', 'authority', unused);
    story
      .restored(3, 3, { madeAtMs, seq: 6_000 + JUMP })
      .leased('a', 'y')
      .boot();
    for (const checker of [numbersGrow, oneHolder, durable]) expect(complaints(checker, story)).toEqual([]);
  });

  it('complains of time that goes back', () => {
    const story = new Story().leased('a', 'x').later(-50).ended('NameReleased', 'a', 1);
    expect(complaints(numbersGrow, story)).toEqual([expect.stringContaining('time goes')]);
  });

  it('complains of a number that a later caller gets although it is lower', () => {
    const story = new Story().boot(9).acquire('a', 'x');
    const id = story.call('lease.acquire', { name: 'a', holder: 'y', token: 'token of y', ttl_ms: 10 });
    story.answer(id, story.grantBody('a', 'y', 4, story.nowMs, 10));
    expect(complaints(numbersGrow, story)).toEqual([expect.stringContaining('granted as 4 after')]);
  });

  it('complains of a restored log that grants what was granted before', () => {
    const story = new Story().boot(10).leased('a', 'x').restored(3, 2, { seq: 4 });
    expect(complaints(numbersGrow, story.leased('a', 'y', 1_000, 6))).toEqual([
      'a log restored from 3 goes on at 4 already',
      'a log restored from 3 goes on at 4 after 11 was given out',
      expect.stringContaining('lease 6 is granted after 11'),
    ]);
  });

  it('complains of one backup that is restored twice and grants the same numbers again', () => {
    const story = new Story().boot().leased('a', 'x');
    const madeAtMs = story.nowMs;
    story.restored(2, 3, { madeAtMs }).leased('a', 'y').restored(2, 3, { madeAtMs });
    expect(complaints(numbersGrow, story.leased('a', 'z', 1_000, JUMP + 4))).toEqual([
      `a log restored from 2 goes on at ${JUMP + 2} after ${JUMP + 4} was given out`,
      `lease ${JUMP + 4} is granted after ${JUMP + 4}`,
    ]);
  });

  it('takes a log that is older than the restored one for no restore', () => {
    const story = new Story().boot().leased('a', 'x').leased('b', 'x');
    const restore = { may: 'restore', madeAtMs: story.nowMs, lastSeq: 2, seq: JUMP + 2 } as const;
    story.fault('disk.restore', 'authority', restore).boot(3, 2);
    expect(complaints(durable, story)).toEqual([expect.stringContaining('1 durable entries are gone')]);
  });
});

describe('durable or invisible', () => {
  const acked = () => new Story().boot().acquire('a', 'x');

  it('accepts answers that are in the log', () => {
    expect(complaints(durable, acked().boot(4, 2))).toEqual([]);
  });

  it('complains of an acknowledged change that a restart does not know', () => {
    expect(complaints(durable, acked().boot(2, 2))).toEqual([
      expect.stringContaining('1 durable entries are gone'),
    ]);
  });

  it('bears what a lying disk loses, and only from there on', () => {
    const story = (fromSeq: number) =>
      acked().fault('disk.truncate', 'authority', { may: 'lose', fromSeq }).boot(2, 2);
    expect(complaints(durable, story(2))).toEqual([]);
    expect(complaints(durable, story(3))).toHaveLength(1);
  });

  it('complains of an answer without any entry', () => {
    const story = new Story().boot();
    const id = story.call('lease.acquire', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 10 });
    story.answer(id, story.grantBody('a', 'x', 2, story.nowMs, 10));
    expect(complaints(durable, story)).toEqual([expect.stringContaining('not in the log')]);
  });

  it('complains of an answer that names the entry of another call', () => {
    const story = new Story().boot().leased('a', 'y');
    const id = story.call('lease.acquire', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 10 });
    story.answer(id, story.grantBody('a', 'x', 2, story.nowMs, 10));
    expect(complaints(durable, story)).toEqual([expect.stringContaining('where there is NameLeased')]);
  });

  it('complains of a read that shows what becomes durable only later', () => {
    const story = new Story().boot();
    const id = story.call('lease.get', { name: 'a' });
    story.answer(id, story.grantBody('a', 'x', 2, story.nowMs, 10)).leased('a', 'x');
    expect(complaints(durable, story)).toEqual([expect.stringContaining('before it was durable')]);
  });

  it('accepts a read of what a new writer had replayed', () => {
    const story = new Story().boot().boot(3, 2).entry('Other', {}, 3);
    const id = story.call('lease.get', { name: 'a' });
    story.answer(id, story.grantBody('a', 'x', 2, story.nowMs, 10)).leased('a', 'x', 10, 2);
    story.events.push({ ...story.events.pop()!, source: 'log' } as never);
    expect(complaints(durable, story).filter((says) => says.includes('before'))).toEqual([]);
  });

  it('complains of one position with two contents', () => {
    const story = acked().leased('b', 'z', 1_000, 2);
    expect(complaints(durable, story)).toEqual([
      expect.stringContaining('seq 2 is NameLeased and NameLeased'),
    ]);
  });

  it('complains of a log that lacks, at the end, what the feed had shown', () => {
    const log = (story: Story, seq: number) =>
      story.entry('NameReleased', { name: 'q', lease_seq: seq }, seq, 'log');
    const shown = () => new Story().boot().ended('NameReleased', 'q', 2).ended('NameReleased', 'q', 3);
    const like = (story: Story, whole: boolean) => {
      for (const event of [...story.events]) {
        if (event.kind !== 'entry' || (!whole && event.seq === 3)) continue;
        story.events.push({ ...event, source: 'log' });
      }
      return story;
    };
    expect(complaints(durable, like(shown(), true))).toEqual([]);
    expect(complaints(durable, like(shown(), false))).toEqual([expect.stringContaining('seq 3')]);
    expect(complaints(durable, log(log(new Story(), 2), 4))).toEqual([
      expect.stringContaining('seq 4 follows 2'),
    ]);
  });
});

describe('asked for', () => {
  it('accepts what was asked for with the right token', () => {
    const story = new Story().acquire('a', 'x');
    story.call('lease.release', { name: 'a', holder: 'x', token: 'token of x' });
    expect(complaints(askedFor, story.ended('NameReleased', 'a', 1))).toEqual([]);
  });

  it('complains of a release with the wrong token, or without a call', () => {
    const story = new Story().acquire('a', 'x');
    story.call('lease.release', { name: 'a', holder: 'x', token: 'guessed' });
    expect(complaints(askedFor, story.ended('NameReleased', 'a', 1))).toHaveLength(1);
    expect(complaints(askedFor, new Story().acquire('a', 'x').ended('NameReleased', 'a', 1))).toHaveLength(1);
  });

  it('accepts that a grant is given back whose caller never heard of it', () => {
    const story = new Story();
    story.call('lease.acquire', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 1_000 });
    expect(complaints(askedFor, story.leased('a', 'x').ended('NameReleased', 'a', 1))).toEqual([]);
  });

  it('complains of what was asked for only later', () => {
    const story = new Story().leased('a', 'x');
    story.call('lease.acquire', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 1_000 });
    expect(complaints(askedFor, story)).toEqual([expect.stringContaining('only later')]);
  });

  it('complains of a token that wins a name twice, unless the name was forgotten in between', () => {
    const won = () => new Story().acquire('a', 'x').later(2_000).ended('NameExpired', 'a', 1);
    expect(complaints(askedFor, won().leased('a', 'x'))).toEqual([
      expect.stringContaining('had won it before'),
    ]);
    expect(
      complaints(
        askedFor,
        won()
          .entry('Forgotten', { names: ['a'] })
          .leased('a', 'x'),
      ),
    ).toEqual([]);
  });

  it('complains of a verdict without a call, and accepts expiries', () => {
    const story = new Story();
    story.call('task.create', {});
    story.created('t');
    story.call('task.lease', { worker_id: 'w' });
    story.granted('t').later(2_000).onTask('LeaseExpired', 't', 2, { counted: true });
    expect(complaints(askedFor, story)).toEqual([]);
    expect(complaints(askedFor, story.onTask('TaskCancelled', 't', 2, { verb: 'complete' }))).toHaveLength(1);
  });
});

describe('slots', () => {
  it('accepts one holder a slot', () => {
    const story = new Story().leased('lease:tuner:0', 's1').leased('lease:tuner:1', 's2');
    expect(
      complaints(slots, story.ended('NameReleased', 'lease:tuner:0', 1).leased('lease:tuner:0', 's3')),
    ).toEqual([]);
  });

  it('complains of two on one slot', () => {
    const story = new Story().leased('lease:tuner:0', 's1').leased('lease:tuner:0', 's2');
    expect(complaints(slots, story)).toEqual([expect.stringContaining('2 hold 1 slots')]);
  });

  it('complains of one holder on two slots', () => {
    const story = new Story().leased('lease:tuner:0', 's1').leased('lease:tuner:1', 's1');
    expect(complaints(slots, story)).toEqual([expect.stringContaining('and has lease:tuner:0')]);
  });
});

describe('the rules of tasks', () => {
  it('accept a task that is tried again and ends', () => {
    const story = new Story().created('t', { dedup_key: 'k' }).granted('t');
    story
      .onTask('TaskFailed', 't', 2, { next_state: 'WAITING', due_at: at(10) })
      .later(20)
      .granted('t', 2);
    story.onTask('TaskCompleted', 't', 4).created('u', { dedup_key: 'k' });
    expect(complaints(taskRules, story)).toEqual([]);
  });

  it('complain of a task that is leased before it is due', () => {
    const story = new Story().created('t', { due_at: at(500) }).granted('t');
    expect(complaints(taskRules, story)).toEqual([expect.stringContaining('due at')]);
  });

  it('complain of a task that changes after its end', () => {
    const story = new Story().created('t').granted('t').onTask('TaskCompleted', 't', 2);
    expect(complaints(taskRules, story.onTask('TaskDead', 't', 0))).toHaveLength(1);
  });

  it('accept one successor of an ended task, and complain of a second, of one too early and of one of nothing', () => {
    const from = { requeued_from: 't' };
    const ended = () => new Story().created('t').onTask('TaskDead', 't', 0);
    expect(complaints(taskRules, ended().created('u', from))).toEqual([]);
    expect(complaints(taskRules, ended().created('u', from).created('v', from))).toEqual([
      expect.stringContaining('was run again at seq 3'),
    ]);
    expect(complaints(taskRules, new Story().created('t').created('u', from))).toHaveLength(1);
    expect(complaints(taskRules, new Story().created('u', from))).toHaveLength(1);
  });

  it('complain of more attempts or failures than allowed', () => {
    const once = new Story().created('t', { max_attempts: 1 }).granted('t').later(1_000);
    once.onTask('LeaseExpired', 't', 2, { counted: true }).granted('t', 2);
    expect(complaints(taskRules, once)).toEqual([expect.stringContaining('attempt 2 of 1')]);
    const failing = new Story().created('t', { retry: { max_failures: 1 } }).granted('t');
    failing.onTask('TaskFailed', 't', 2, { next_state: 'WAITING', due_at: at(10) });
    expect(complaints(taskRules, failing)).toEqual([expect.stringContaining('after failure 1')]);
  });

  it('want the failure that uses up the attempts to say DEAD, and the death right behind it', () => {
    const failed = (attempts: number, next_state: string): Story =>
      new Story()
        .created('t', { max_attempts: attempts })
        .granted('t')
        .onTask('TaskFailed', 't', 2, {
          next_state,
          ...(next_state === 'WAITING' ? { due_at: at(10) } : {}),
        });
    expect(complaints(taskRules, failed(1, 'DEAD').onTask('TaskDead', 't', 0))).toEqual([]);
    expect(complaints(taskRules, failed(1, 'WAITING').onTask('TaskDead', 't', 0))).toHaveLength(1);
    expect(complaints(taskRules, failed(2, 'DEAD').onTask('TaskDead', 't', 0))).toHaveLength(1);
    expect(complaints(taskRules, failed(1, 'DEAD').created('u'))).toHaveLength(1);
  });

  it('do not count what was released or ran out while the authority was down', () => {
    const story = new Story().created('t', { max_attempts: 1 }).granted('t');
    story
      .onTask('TaskReleased', 't', 2, { due_at: at(0) })
      .granted('t', 2)
      .later(1_000);
    story.onTask('LeaseExpired', 't', 4, { counted: false }).granted('t', 3);
    expect(complaints(taskRules, story)).toEqual([]);
  });

  it('complain of a key that is taken twice, or that stands for a task that has ended', () => {
    const twice = new Story().created('t', { dedup_key: 'k' }).created('u', { dedup_key: 'k' });
    expect(complaints(taskRules, twice)).toHaveLength(1);
    const story = new Story();
    const id = story.call('task.create', { dedup_key: 'k' });
    story.answer(id, { task_id: 't', state: 'COMPLETED', attempt: 1, seq: 1, duplicate: true });
    expect(complaints(taskRules, story)).toHaveLength(1);
  });
});

describe('bulk calls', () => {
  const run = (ids: readonly string[], more: object = {}, request: object = {}) => {
    const story = new Story().created('a').created('b').created('c');
    const id = story.call('task.bulk', { action: 'kill', cursor: '1-2', ...request });
    return complaints(bulk, story.answer(id, { task_ids: ids, changed: ids.length, cursor: '1-2', ...more }));
  };

  it('act on tasks behind their cursor, up to the position of their run', () => {
    expect(run(['b'])).toEqual([]);
    expect(run(['a'])).toEqual([expect.stringContaining('is none from 1 to 2')]);
    expect(run(['c'])).toHaveLength(1);
  });

  it('keep the position of their run, and change nothing in a dry run', () => {
    expect(run([], { next_cursor: '2-2' })).toEqual([]);
    expect(run([], { next_cursor: '2-3' })).toHaveLength(1);
    expect(run([], {}, { cursor: '1-3' })).toHaveLength(1);
    expect(run(['b'], {}, { dry_run: true })).toEqual([expect.stringContaining('has changed 1')]);
  });
});

describe('retention', () => {
  const keeps = { completedMs: 10, failedMs: 20, max: 1 };
  const forgotten = (type: string, fields: Record<string, string>, afterMs: number, before = new Story()) => {
    before.events.unshift({
      kind: 'boot',
      node: 'authority',
      epoch: 1,
      lastSeq: 0,
      lastAtMs: 0,
      keeps,
      simMs: 0,
    });
    before.created('t').onTask(type, 't', 0, fields);
    before.nowMs += afterMs;
    return complaints(retention, before.entry('Forgotten', { task_ids: ['t'] }));
  };

  it('is as long as that of its kind', () => {
    expect(forgotten('TaskCompleted', {}, 15)).toEqual([]);
    expect(forgotten('TaskDead', { reason: 'CANCELLED' }, 15)).toEqual([]);
    expect(forgotten('TaskDead', { reason: 'broken' }, 15)).toEqual([
      expect.stringContaining('is forgotten'),
    ]);
    expect(forgotten('TaskFailed', { next_state: 'FAILED' }, 25)).toEqual([]);
  });

  it('is shorter when there are too many of the same kind, or for a purge', () => {
    const failed = () => new Story().created('other').onTask('TaskDead', 'other', 0, { reason: 'broken' });
    const completed = () => new Story().created('other').onTask('TaskCompleted', 'other', 0);
    expect(forgotten('TaskDead', { reason: 'broken' }, 1, failed())).toEqual([]);
    expect(forgotten('TaskDead', { reason: 'broken' }, 1, completed())).toHaveLength(1);
    const purge = (state: string) => {
      const story = new Story();
      story.call('task.bulk', { action: 'purge', filter: { state } });
      return story;
    };
    expect(forgotten('TaskDead', { reason: 'broken' }, 1, purge('DEAD'))).toEqual([]);
    expect(forgotten('TaskDead', { reason: 'broken' }, 1, purge('COMPLETED'))).toHaveLength(1);
  });
});
