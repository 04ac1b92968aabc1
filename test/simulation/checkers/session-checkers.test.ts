// The checkers that judge sessions and their pipelines, on histories written by hand: each finds nothing in a good one, and
// in the same one with a single thing wrong it finds just that.
import { describe, expect, it } from 'vitest';
import { sessionIdOfSeq } from '../../../src/core/ids.ts';
import { askedFor } from './asked-for.ts';
import { deposed } from './deposed.ts';
import { oneHolder } from './one-holder.ts';
import { pipelines } from './pipelines.ts';
import { sessions } from './sessions.ts';
import { slots } from './slots.ts';
import { complaints, Story } from './story.ts';

const GUARD = 'system:orchestrator:guard_lock';
const TTL_MS = 10_000;

/** A story in which the orchestrator `o` has had the guard since position 1, and has wiped. */
class Stage extends Story {
  claim = { name: GUARD, holder: 'o', token: 'token of o' };

  static open(): Stage {
    const stage = new Stage();
    stage.acquire(GUARD, 'o', TTL_MS, 'c1').note({
      kind: 'guard',
      is: 'held',
      client: 'c1',
      holder: 'o',
      leaseSeq: 1,
    });
    stage.call('lease.wipe', { prefix: 'lease:', guard: stage.claim });
    return stage.entry('NamesWiped', { prefix: 'lease:', count: 0 });
  }

  /** An intent; its session. */
  intent(serviceRef: string, key = serviceRef): string {
    return this.intend({ type: 'live', serviceRef, profileID: 'p' }, key);
  }

  recording(recordingID: string, start_ms: number, key = `${recordingID} ${start_ms}`): string {
    return this.intend({ type: 'vod', recordingID, start_ms, profileID: 'p' }, key);
  }

  intend(intent: Record<string, string | number>, key: string): string {
    const id = sessionIdOfSeq(this.lastSeq + 1);
    const call = this.call('intent.accept', intent, 'c2');
    this.entry('IntentAccepted', {
      session_id: id,
      task_id: id,
      intent,
      idempotency_key: key,
      queue: 'system:session-starts',
    });
    this.answer(call, { session_id: id, status: 'accepted', seq: this.lastSeq }, 202);
    return id;
  }

  /** The orchestrator takes the start task, and asks for the start with these slots. */
  begin(id: string, offered: readonly string[] = ['0', '1']): void {
    this.call('task.lease', { worker_id: 'o', queues: ['system:session-starts'], guard: this.claim });
    this.granted(id, 1, TTL_MS);
    const taken = this.events.findLast((event) => event.kind === 'entry')!;
    Object.assign((taken as { entry: object }).entry, { worker_id: 'o' });
    this.call('session.start', { session_id: id, guard: this.claim, slots: offered });
  }

  /** The number of its leases. */
  start(id: string, service: string, slot: string, kind = 'service'): number {
    this.begin(id);
    const taskLease = this.lastSeq;
    this.leased([`lease:${kind}:${service}`, `lease:tuner:${slot}`], id, TTL_MS);
    const leaseSeq = this.lastSeq;
    this.changed(id, 'STARTING', { slot, lease_seq: leaseSeq });
    this.onTask('TaskCompleted', id, taskLease);
    return leaseSeq;
  }

  changed(id: string, state: string, fields: Record<string, string | number | null> = {}): this {
    return this.entry('SessionChanged', { session_id: id, state, reason: null, ...fields });
  }

  /** With the call that asks for it. */
  change(id: string, event: string, state: string, slot: string, leaseSeq: number): this {
    this.call('session.change', { session_id: id, guard: this.claim, event });
    return this.changed(id, state, { slot, lease_seq: leaseSeq });
  }

  pipeline(is: 'begun' | 'ended', session: string, slot: string, pid = 1, guardSeq = 1, node = 'c1'): this {
    const machine = `host-${node}`;
    return this.note({ kind: 'pipeline', is, node, machine, pid, session, slot, leaseSeq: 1, guardSeq });
  }
}

/** One session from its intent to its end. */
function whole(): Stage {
  const stage = Stage.open();
  const id = stage.intent('a');
  const leaseSeq = stage.start(id, 'a', '0');
  stage.pipeline('begun', id, '0').change(id, 'ready', 'READY', '0', leaseSeq);
  stage.call('session.stop', { session_id: id }, 'c2');
  stage.changed(id, 'STOPPING', { slot: '0', lease_seq: leaseSeq, reason: 'R_CLIENT_STOP' });
  return stage.pipeline('ended', id, '0').change(id, 'stopped', 'STOPPED', '0', leaseSeq);
}

describe('a whole life', () => {
  it.each([sessions, pipelines, deposed, askedFor, oneHolder, slots])(
    'is nothing to complain of for $name',
    (checker) => {
      expect(complaints(checker, whole())).toEqual([]);
    },
  );

  it('leaves the slot to the next one', () => {
    const stage = whole();
    const id = stage.intent('a');
    stage.start(id, 'a', '0');
    stage.pipeline('begun', id, '0', 2);
    for (const checker of [sessions, pipelines, askedFor, oneHolder, slots])
      expect(complaints(checker, stage)).toEqual([]);
  });
});

describe('sessions', () => {
  const running = () => {
    const stage = Stage.open();
    const id = stage.intent('a');
    return { stage, id, leaseSeq: stage.start(id, 'a', '0') };
  };

  it('never change when they have ended', () => {
    const stage = whole();
    const [id] = [sessionIdOfSeq(3)];
    stage.changed(id, 'READY', { slot: '0', lease_seq: 5 });
    expect(complaints(sessions, stage)).toEqual([expect.stringContaining('although it is STOPPED')]);
  });

  it('never leave out a state', () => {
    const stage = Stage.open();
    const id = stage.intent('a');
    expect(complaints(sessions, stage.changed(id, 'READY'))).toEqual([
      expect.stringContaining('although it is NEW'),
    ]);
  });

  it('are one for a key while they can be shared, and another one afterwards', () => {
    const { stage } = running();
    stage.intent('a');
    expect(complaints(sessions, stage)).toEqual([expect.stringContaining('has the key of')]);
    const later = whole();
    later.intent('a');
    expect(complaints(sessions, later)).toEqual([]);
  });

  it('are not given to who asks when they have ended', () => {
    const stage = whole();
    const call = stage.call('intent.accept', { type: 'live', serviceRef: 'a', profileID: 'p' }, 'c2');
    stage.answer(call, { session_id: sessionIdOfSeq(3), status: 'idempotent_replay', seq: 3 }, 202);
    expect(complaints(sessions, stage)).toEqual([expect.stringContaining('which is STOPPING')]);
  });

  it('end with their leases, in the very next entry', () => {
    const broken = () => {
      const { stage, id, leaseSeq } = running();
      stage.ended('NameBroken', 'lease:tuner:0', leaseSeq);
      return { stage, id, leaseSeq };
    };
    const good = broken();
    good.stage.changed(good.id, 'FAILED', { slot: '0', lease_seq: good.leaseSeq, reason: 'R_LEASE_EXPIRED' });
    good.stage.intent('b');
    expect(complaints(sessions, good.stage)).toEqual([]);
    const bad = broken();
    bad.stage.intent('b');
    expect(complaints(sessions, bad.stage)).toEqual([expect.stringContaining('although its leases ended')]);
  });

  it('run on both of their leases', () => {
    const stage = Stage.open();
    const id = stage.intent('a');
    stage.begin(id);
    stage
      .leased('lease:tuner:0', id, TTL_MS)
      .changed(id, 'STARTING', { slot: '0', lease_seq: stage.lastSeq });
    expect(complaints(sessions, stage)).toEqual([expect.stringContaining('without both of its leases')]);
  });

  it('are never two on one slot', () => {
    const { stage } = running();
    stage.start(stage.intent('b'), 'b', '0');
    expect(complaints(sessions, stage)).toContainEqual(expect.stringContaining('are on slot 0'));
    expect(complaints(slots, stage)).toHaveLength(1);
  });

  it('take their leases once', () => {
    const { stage, id } = running();
    stage.leased('lease:tuner:1', id, TTL_MS);
    expect(complaints(sessions, stage)).toEqual([expect.stringContaining('which is STARTING, takes')]);
  });

  it('fail for want of a service or a slot only when there is none', () => {
    const failed = (service: string, offered: string[], reason: string) => {
      const { stage } = running();
      const id = stage.intent(service, 'another key');
      stage.begin(id, offered);
      return complaints(sessions, stage.changed(id, 'FAILED', { reason }));
    };
    expect(failed('a', ['0', '1'], 'R_LEASE_BUSY')).toEqual([]);
    expect(failed('b', ['0', '1'], 'R_LEASE_BUSY')).toHaveLength(1);
    expect(failed('b', ['0'], 'R_NO_TUNER')).toEqual([]);
    expect(failed('b', ['0', '1'], 'R_NO_TUNER')).toEqual([expect.stringContaining('one of those')]);
  });

  it('hold a recording by its second, and nothing else of it', () => {
    const playing = (kind: string, name: string): Stage => {
      const stage = Stage.open();
      stage.start(stage.recording('film', 61_999), name, '0', kind);
      return stage;
    };
    expect(complaints(sessions, playing('vod', 'film:61'))).toEqual([]);
    expect(complaints(sessions, playing('service', 'film'))).toHaveLength(1);
    const failed = (intend: (stage: Stage) => string): string[] => {
      const stage = playing('vod', 'film:61');
      const id = intend(stage);
      stage.begin(id);
      return complaints(sessions, stage.changed(id, 'FAILED', { reason: 'R_LEASE_BUSY' }));
    };
    expect(failed((stage) => stage.recording('film', 61_000, 'another profile'))).toEqual([]);
    expect(failed((stage) => stage.recording('film', 62_000))).toHaveLength(1);
    expect(failed((stage) => stage.intent('film'))).toHaveLength(1);
  });

  it('are taken in only after a wipe by the same guard', () => {
    const stage = whole();
    const id = stage.intent('b');
    stage.ended('NameReleased', GUARD, 1).leased(GUARD, 'p', TTL_MS).granted(id, 1, TTL_MS);
    expect(complaints(sessions, stage)).toEqual([expect.stringContaining('before the leases')]);
  });
});

describe('what only the orchestrator may do', () => {
  const deposedAt = (act: (stage: Stage, id: string, leaseSeq: number) => void): string[] => {
    const stage = Stage.open();
    const id = stage.intent('a');
    const leaseSeq = stage.start(id, 'a', '0');
    stage.call('lease.break', { name: GUARD }, 'c2');
    stage.ended('NameBroken', GUARD, 1).acquire(GUARD, 'p', TTL_MS, 'c3');
    act(stage, id, leaseSeq);
    return complaints(askedFor, stage);
  };

  it('is not done for one who has lost the guard', () => {
    expect(deposedAt((stage, id, seq) => stage.change(id, 'ready', 'READY', '0', seq))).toHaveLength(1);
    expect(
      deposedAt((stage, id, seq) => {
        stage.call('session.renew', { session_ids: [id], guard: stage.claim, ttl_ms: TTL_MS });
        stage.renewed('lease:tuner:0', seq, 50_000);
      }),
    ).toHaveLength(1);
    expect(deposedAt((stage) => void stage.start(stage.intent('b'), 'b', '1'))).not.toEqual([]);
  });

  it('is done for the one who has it', () => {
    expect(
      deposedAt((stage, id, seq) => {
        stage.claim = { name: GUARD, holder: 'p', token: 'token of p' };
        stage.change(id, 'ready', 'READY', '0', seq);
      }),
    ).toEqual([]);
  });

  it('is not even asked for by one who knows that it has lost the guard', () => {
    const lost = { kind: 'guard', is: 'lost', client: 'c1', holder: 'o', leaseSeq: 1 } as const;
    const stage = whole().note(lost);
    expect(complaints(deposed, stage)).toEqual([]);
    stage.call('session.renew', { session_ids: [], guard: stage.claim, ttl_ms: 1 });
    expect(complaints(deposed, stage)).toEqual([expect.stringContaining('session.renew')]);
  });
});

describe('pipelines', () => {
  it('are never two on one slot', () => {
    const apart = whole().pipeline('begun', 'x', '1', 2).pipeline('begun', 'y', '0', 3);
    expect(complaints(pipelines, apart)).toEqual([]);
    const together = whole().pipeline('begun', 'x', '0', 2).pipeline('begun', 'y', '0', 3);
    expect(complaints(pipelines, together)).toEqual([expect.stringContaining('while x runs there')]);
  });

  it('are started once for a session', () => {
    const story = whole()
      .pipeline('begun', 'x', '0', 2)
      .pipeline('ended', 'x', '0', 2)
      .pipeline('begun', 'x', '0', 3);
    expect(complaints(pipelines, story)).toEqual([expect.stringContaining('started twice')]);
  });

  it('are gone before the end of their session is told, unless their leases ended first', () => {
    const told = (isServed: boolean) => {
      const stage = Stage.open();
      const id = stage.intent('a');
      const leaseSeq = stage.start(id, 'a', '0');
      stage.pipeline('begun', id, '0');
      if (!isServed) stage.ended('NameBroken', 'lease:tuner:0', leaseSeq);
      stage.changed(id, 'FAILED', { slot: '0', lease_seq: leaseSeq, reason: 'R_PROCESS_ENDED' });
      return stage.pipeline('ended', id, '0');
    };
    expect(complaints(pipelines, told(false))).toEqual([]);
    expect(complaints(pipelines, told(true))).toEqual([expect.stringContaining('its pipeline runs until')]);
  });

  const underGuard = (end: (stage: Stage) => void, forMs: number, target = 'nobody') => {
    const stage = Stage.open().pipeline('begun', 'x', '0');
    stage.note({ kind: 'fault', fault: 'clock.suspend', target, detail: { forMs: 60_000 }, allows: [] });
    end(stage);
    return complaints(pipelines, stage.later(forMs).pipeline('ended', 'x', '0'));
  };
  const expires = (stage: Stage) => void stage.later(TTL_MS).ended('NameExpired', GUARD, 1);
  const breaks = (reason: string) => (stage: Stage) =>
    void stage.entry('NameBroken', { name: GUARD, lease_seq: 1, reason });

  it('never outlive the guard they were started under', () => {
    expect(underGuard(expires, -5)).toEqual([]);
    expect(underGuard(expires, 5)).toEqual([expect.stringContaining('by NameExpired')]);
  });

  it('of a guard that was broken are gone when its time would have been up', () => {
    expect(underGuard(breaks('on purpose'), TTL_MS - 500)).toEqual([]);
    expect(underGuard(breaks('on purpose'), 2 * TTL_MS)).toHaveLength(1);
  });

  it('of a dead orchestrator are gone soon', () => {
    expect(underGuard(breaks('superseded'), 900)).toEqual([]);
    expect(underGuard(breaks('superseded'), 1_100)).toHaveLength(1);
  });

  it('of a machine that sleeps are asleep', () => {
    expect(underGuard(expires, 5, 'c1')).toEqual([]);
    expect(underGuard(expires, 5, 'c2')).toHaveLength(1);
  });

  const orphaned = (forMs: number, meanwhile: (stage: Stage) => void = () => {}) => {
    const stage = Stage.open().pipeline('begun', 'x', '0');
    stage.note({ kind: 'keeper-death', node: 'c1', pid: 1 });
    meanwhile(stage);
    return complaints(pipelines, stage.later(forMs).pipeline('ended', 'x', '0'));
  };

  it('that lost their keeper are ended by their orchestrator at once', () => {
    expect(orphaned(90)).toEqual([]);
    expect(orphaned(110)).toEqual([expect.stringContaining('lost its keeper')]);
  });

  it('that lost their keeper are ended later by an orchestrator that stands still, and by a dead one never', () => {
    const pauses = (target: string) => (stage: Stage) =>
      void stage.note({ kind: 'fault', fault: 'process.pause', target, detail: { forMs: 500 }, allows: [] });
    expect(orphaned(550, pauses('c1'))).toEqual([]);
    expect(orphaned(650, pauses('c1'))).toHaveLength(1);
    expect(orphaned(550, pauses('c2'))).toHaveLength(1);
    const dies = (stage: Stage) =>
      void stage.note({ kind: 'death', node: 'c1', cause: 'kill', why: 'kill', lastSeq: 0 });
    expect(orphaned(5_000, dies)).toEqual([]);
  });

  it('that lost their keeper still have their slot for themselves while another process could end them', () => {
    const stage = Stage.open().pipeline('begun', 'x', '0').note({ kind: 'keeper-death', node: 'c1', pid: 1 });
    stage.later(200).pipeline('begun', 'y', '0', 2).pipeline('ended', 'x', '0');
    expect(complaints(pipelines, stage)).toEqual([
      expect.stringContaining('lost its keeper'),
      expect.stringContaining('while x runs there'),
    ]);
  });

  const dies = (why: string) => ({ kind: 'death', node: 'c1', cause: 'kill', why, lastSeq: 0 }) as const;

  it('whose keeper and orchestrator are dead are ended before the next begins there on the same machine', () => {
    const beside = (node: string) => {
      const stage = Stage.open()
        .pipeline('begun', 'x', '0')
        .note({ kind: 'keeper-death', node: 'c1', pid: 1 });
      stage.note(dies('kill')).later(5_000).pipeline('begun', 'y', '0', 2, 1, node);
      return complaints(pipelines, stage);
    };
    expect(beside('c1')).toEqual([expect.stringContaining('while x runs there')]);
    expect(beside('c2')).toEqual([]);
  });

  it('whose keeper stands still outlive their guard only if their orchestrator cannot act either', () => {
    const outlives = (why: string | null) =>
      underGuard((stage) => {
        stage.note({ kind: 'keeper-pause', node: 'c1', pid: 1, forMs: 60_000 });
        if (why !== null) stage.note(dies(why));
        expires(stage);
      }, 5);
    expect(outlives(null)).toHaveLength(1);
    expect(outlives('exit code 0')).toHaveLength(1);
    expect(outlives('kill')).toEqual([]);
  });
});
