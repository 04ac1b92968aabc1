// Answers about names and tasks that fit together, and ones that do not: each bad history is a good one in which one answer
// is what no fair authority could have said at any moment between the question and it.
import { describe, expect, it } from 'vitest';
import { leaseIdOfSeq } from '../../../src/core/ids.ts';
import { linearisable } from './linearisable.ts';
import { at, complaints, Story } from './story.ts';

const isFine = (story: Story) => expect(complaints(linearisable, story)).toEqual([]);
const isBad = (story: Story) => expect(complaints(linearisable, story)).toHaveLength(1);

/** A caller renews with a token, and is answered that the lease now lasts until then. */
function renews(story: Story, holder: string, token = `token of ${holder}`): Story {
  const id = story.call('lease.renew', { name: 'a', holder, token, ttl_ms: 5_000 });
  const fromMs = story.nowMs;
  story.renewed('a', 1, fromMs + 5_000);
  const body = story.grantBody('a', holder, 1, fromMs, 5_000);
  return story.answer(id, { ...body, acquired_at: at(0), seq: story.lastSeq });
}

function releases(story: Story, token: string, isReleased: boolean): Story {
  const id = story.call('lease.release', { name: 'a', holder: 'x', token });
  if (isReleased) story.ended('NameReleased', 'a', 1);
  return story.answer(id, { released: isReleased, seq: story.lastSeq });
}

function writes(story: Story, leaseSeq: number, code: string | null, version = 1): Story {
  const id = story.call('object.write', { object_id: 'a', value: 1, lease: { lease_seq: leaseSeq } });
  if (code !== null) return story.answer(id, { code }, 412);
  story.written('a', leaseSeq, version);
  return story.answer(id, { object_id: 'a', version, lease_seq: leaseSeq, seq: story.lastSeq });
}

describe('a name', () => {
  const held = () => new Story().acquire('a', 'x');

  it('is acquired, renewed, written and released', () => {
    isFine(releases(writes(renews(held(), 'x'), 1, null), 'token of x', true));
  });

  it('is not renewed with the token of another holder', () => {
    isBad(renews(held(), 'x', 'guessed'));
  });

  it('is not renewed by another holder, nor once it is over', () => {
    isBad(renews(held(), 'y', 'token of x'));
    isBad(renews(releases(held(), 'token of x', true), 'x'));
    isBad(renews(held().later(1_000), 'x'));
  });

  it('is not released with a wrong token, and not kept from its own holder', () => {
    isFine(releases(held(), 'guessed', false));
    isBad(releases(held(), 'guessed', true));
    isBad(releases(held(), 'token of x', false));
  });

  it('is refused to others while it is held, in the name of its holder', () => {
    const asks = (holder: string, leftMs: number) => {
      const story = held();
      const id = story.call('lease.acquire', { name: 'a', holder: 'y', token: 'token of y', ttl_ms: 10 });
      return story.refuse(id, 'LEASE_HELD', { holder, remaining_ms: leftMs });
    };
    isFine(asks('x', 900));
    isBad(asks('z', 900));
    isBad(asks('x', 5_000));
    isBad(asks('x', 0));
    isFine(asks('who is first in line', 0));
  });

  it('is not refused as held once the holder was told that it has given it back', () => {
    const story = releases(held(), 'token of x', true);
    const id = story.call('lease.acquire', { name: 'a', holder: 'y', token: 'token of y', ttl_ms: 10 });
    isBad(story.refuse(id, 'LEASE_HELD', { holder: 'x', remaining_ms: 100 }));
  });

  it('is judged although thousands wait for it, of whom many give up in the end', () => {
    // Trying every one who gives up after every grant would be more steps than the search takes before it gives up itself.
    const story = new Story();
    const ask = (holder: string) =>
      story.call('lease.acquire', { name: 'a', holder, token: `token of ${holder}`, ttl_ms: 1_000 });
    const served = Array.from({ length: 1_500 }, (_, index) => `served ${index}`);
    const calls = served.map((holder) => [holder, ask(holder)] as const);
    const tired = Array.from({ length: 1_500 }, (_, index) => ask(`tired ${index}`));
    for (const [holder, id] of calls) {
      const fromMs = story.nowMs;
      story.leased('a', holder);
      const leaseSeq = story.lastSeq;
      story.answer(id, story.grantBody('a', holder, leaseSeq, fromMs, 1_000));
      if (holder !== served.at(-1)) story.ended('NameReleased', 'a', leaseSeq);
    }
    for (const id of tired) story.refuse(id, 'LEASE_HELD', { holder: served.at(-1)!, remaining_ms: 900 });
    isFine(story);
  });

  it('may still be refused to who asked before that', () => {
    const story = held();
    const id = story.call('lease.acquire', { name: 'a', holder: 'y', token: 'token of y', ttl_ms: 10 });
    isFine(releases(story, 'token of x', true).refuse(id, 'LEASE_HELD', { holder: 'x', remaining_ms: 900 }));
  });

  it('is shown as it is: not after its end, not to be held by another', () => {
    const shows = (story: Story, holder: string) => {
      const id = story.call('lease.get', { name: 'a' });
      const { token, ...body } = story.grantBody('a', holder, 1, 3, 1_000);
      return story.answer(id, { ...body, expires_at: at(1_002), remaining_ms: 500 });
    };
    isFine(shows(held(), 'x'));
    isBad(shows(held(), 'y'));
    isBad(shows(releases(held(), 'token of x', true), 'x'));
  });

  it('is not reported free while it is held', () => {
    const looks = (story: Story) => story.refuse(story.call('lease.get', { name: 'a' }), 'LEASE_NOT_FOUND');
    isBad(looks(held()));
    isFine(looks(releases(held(), 'token of x', true)));
  });

  it('is said to have expired only when that was written', () => {
    const late = (story: Story) => {
      const id = story.call('lease.renew', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 10 });
      return story.refuse(id, 'LEASE_EXPIRED');
    };
    isFine(late(held().later(1_000).ended('NameExpired', 'a', 1)));
    isBad(late(held().later(1_000)));
    isBad(late(releases(held(), 'token of x', true)));
  });

  it('is granted again with the same token only as the same grant', () => {
    const again = (seq: number) => {
      const story = held();
      const id = story.call('lease.acquire', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 1_000 });
      const body = { ...story.grantBody('a', 'x', 1, 0, 0), expires_at: at(1_002), remaining_ms: 900 };
      return story.answer(id, { ...body, lease_seq: seq, seq, duplicate: true });
    };
    isFine(again(1));
    isBad(again(7));
  });

  it('is not granted with a shorter or longer time than asked for', () => {
    const story = new Story();
    const id = story.call('lease.acquire', { name: 'a', holder: 'x', token: 'token of x', ttl_ms: 1_000 });
    story.leased('a', 'x', 2_000);
    isBad(story.answer(id, story.grantBody('a', 'x', 1, 2, 2_000)));
  });

  it('is written only under its fence, and refused with the reason that is true', () => {
    isFine(writes(held(), 1, null));
    isFine(writes(held(), 0, 'WRITE_STALE_FENCE'));
    isBad(writes(held(), 1, 'WRITE_STALE_FENCE'));
    isFine(writes(held(), 9, 'WRITE_UNKNOWN_FENCE'));
    isBad(writes(held(), 1, 'LEASE_EXPIRED'));
    isFine(writes(releases(held(), 'token of x', true), 1, 'LEASE_EXPIRED'));
  });

  it('shows the version that was written', () => {
    const reads = (version: number) => {
      const story = writes(held(), 1, null);
      const id = story.call('object.get', { object_id: 'a' });
      return story.answer(id, { object_id: 'a', value: 1, version, lease_seq: 1, seq: 2 });
    };
    isFine(reads(1));
    isBad(reads(2));
  });

  it('is ended by a wipe, except a guard, and by a break of the right grant', () => {
    const wiped = held().leased('system:g', 'g').entry('NamesWiped', { prefix: '', count: 1 });
    const looks = (story: Story, name: string) =>
      story.refuse(story.call('lease.get', { name }), 'LEASE_NOT_FOUND');
    isFine(looks(wiped, 'a'));
    isBad(looks(wiped, 'system:g'));
    const story = held();
    const id = story.call('lease.break', { name: 'a', reason: 'r', lease_seq: 7 });
    story.ended('NameBroken', 'a', 1);
    isBad(story.answer(id, { name: 'a', holder: 'x', lease_seq: 1, seq: 2 }));
  });

  it('lets a call without an answer take effect, or not', () => {
    const story = held();
    story.call('lease.release', { name: 'a', holder: 'x', token: 'token of x' });
    isFine(story);
    const effective = held();
    effective.call('lease.release', { name: 'a', holder: 'x', token: 'token of x' });
    isFine(effective.ended('NameReleased', 'a', 1).acquire('a', 'y'));
  });

  it('begins anew from what was kept when a disk has lost the rest', () => {
    const story = new Story().boot().acquire('a', 'x').ended('NameBroken', 'a', 2);
    story.fault('disk.truncate', 'authority', { may: 'lose', fromSeq: 3 }).boot(3, 2);
    const id = story.call('lease.get', { name: 'a' });
    const { token, ...body } = story.grantBody('a', 'x', 2, 3, 1_000);
    isFine(story.answer(id, { ...body, remaining_ms: 900 }));
  });
});

describe('a task', () => {
  const leased = () => {
    const story = new Story();
    const created = story.call('task.create', { payload: 1, task_id: 't' });
    story.created('t').answer(created, { task_id: 't', seq: 1, state: 'WAITING', attempt: 0 }, 201);
    const asked = story.call('task.lease', { worker_id: 'w', ttl_ms: 1_000 });
    const fromMs = story.nowMs;
    story.granted('t');
    const lease = { task_id: 't', lease_id: leaseIdOfSeq(2), lease_seq: 2, attempt: 1 };
    return story.answer(asked, {
      leases: [{ ...lease, expires_at: at(fromMs + 1_000), remaining_ms: 1_000 }],
      seq: 2,
    });
  };
  const ends = (story: Story, verb: string, body: Record<string, never> | object, type?: string) => {
    const id = story.call(`task.${verb}`, { task_id: 't', lease_id: leaseIdOfSeq(2), reason: 'r' });
    if (type !== undefined) story.onTask(type, 't', 2, { verb });
    return story.answer(id, { task_id: 't', state: 'COMPLETED', seq: story.lastSeq, ...body } as never);
  };

  it('is leased and completed, and the same verdict again is a duplicate', () => {
    const done = ends(leased(), 'complete', { outcome: 'COMMITTED' }, 'TaskCompleted');
    isFine(done);
    isFine(ends(done, 'complete', { outcome: 'COMMITTED', duplicate: true }));
    isBad(ends(done, 'release', { outcome: 'COMMITTED', duplicate: true }));
  });

  it('is not completed by a lease that is over', () => {
    isBad(ends(leased().later(1_000), 'complete', { outcome: 'COMMITTED' }, 'TaskCompleted'));
  });

  it('is cancelled only when its lease was lost', () => {
    const expired = () => leased().later(1_000).onTask('LeaseExpired', 't', 2, { counted: true });
    isFine(ends(expired(), 'complete', { outcome: 'CANCELLED' }, 'TaskCancelled'));
    isBad(ends(leased(), 'complete', { outcome: 'CANCELLED' }, 'TaskCancelled'));
  });

  it('is refused for reasons that are true', () => {
    const refused = (story: Story, code: string, leaseSeq = 2) => {
      const id = story.call('task.extend', { task_id: 't', lease_id: leaseIdOfSeq(leaseSeq), ttl_ms: 10 });
      return story.refuse(id, code);
    };
    isBad(refused(leased(), 'TASK_NOT_FOUND'));
    isBad(refused(leased(), 'LEASE_EXPIRED'));
    isBad(refused(leased(), 'LEASE_NOT_CURRENT'));
    isBad(refused(leased(), 'LEASE_UNKNOWN'));
    isFine(refused(leased(), 'LEASE_UNKNOWN', 9));
  });

  it('keeps its lease when one of the writes of its completion is refused', () => {
    const refused = (story: Story) => {
      const id = story.call('task.complete', { task_id: 't', lease_id: leaseIdOfSeq(2), writes: [] });
      return story.refuse(id, 'LEASE_EXPIRED', { index: 0 });
    };
    isFine(refused(leased()));
    isBad(refused(ends(leased(), 'complete', { outcome: 'COMMITTED' }, 'TaskCompleted')));
  });

  it('is shown as it is', () => {
    const shows = (state: string, attempt: number) => {
      const story = leased();
      const id = story.call('task.get', { task_id: 't' });
      return story.answer(id, { task_id: 't', state, attempt, leases: [], seq: 2 });
    };
    isFine(shows('LEASED', 1));
    isBad(shows('WAITING', 1));
    isBad(shows('LEASED', 2));
  });

  it('is not extended to another time than asked for', () => {
    const extended = (byMs: number) => {
      const story = leased();
      const id = story.call('task.extend', { task_id: 't', lease_id: leaseIdOfSeq(2), ttl_ms: 5_000 });
      const endMs = story.nowMs + byMs;
      story.onTask('LeaseExtended', 't', 2, { new_expiry_timestamp: at(endMs) });
      const lease = { task_id: 't', lease_id: leaseIdOfSeq(2), lease_seq: 2, seq: story.lastSeq };
      return story.answer(id, { ...lease, expires_at: at(endMs), remaining_ms: byMs });
    };
    isFine(extended(5_000));
    isBad(extended(4_000));
  });
});
