// What followers of one session receive, on hand-written histories.
import { describe, expect, it } from 'vitest';
import { sessionIdOfSeq } from '../../../src/core/ids.ts';
import type { HeardEvent } from '../history.ts';
import { heard } from './heard.ts';
import { complaints, Story } from './story.ts';

const ID = sessionIdOfSeq(1);
const LIFE = ['', 'STARTING', 'READY', 'STOPPING', 'STOPPED'] as const;

/** One session, at positions 1, 3, 4, 5 and 6; another at 2. */
function life(upTo = 6): Story {
  const story = new Story();
  story.entry('IntentAccepted', { session_id: ID });
  story.entry('IntentAccepted', { session_id: sessionIdOfSeq(2) });
  for (let seq = 3; seq <= upTo; seq++)
    story.entry('SessionChanged', { session_id: ID, state: LIFE[seq - 2]! });
  return story;
}

class Follower {
  readonly story: Story;
  readonly from: number;

  constructor(story: Story, from = 0) {
    this.story = story;
    this.from = from;
  }

  hears(...seqs: number[]): this {
    for (const seq of seqs) this.#note('entry', seq);
    return this;
  }

  is(how: HeardEvent['is']): string[] {
    this.#note(how, 0);
    return complaints(heard, this.story);
  }

  #note(is: HeardEvent['is'], seq: number): void {
    const type = seq === 0 ? '' : seq < 3 ? 'IntentAccepted' : 'SessionChanged';
    const state = seq < 3 ? '' : LIFE[seq - 2]!;
    this.story.note({
      kind: 'heard',
      client: 'c1',
      stream: 1,
      session: ID,
      from: this.from,
      is,
      seq,
      type,
      state,
    });
  }
}

describe('who follows a session', () => {
  it('hears all of it, or what comes from a position on, or a part and leaves', () => {
    expect(new Follower(life()).hears(1, 3, 4, 5, 6).is('ended')).toEqual([]);
    expect(new Follower(life(), 4).hears(4, 5, 6).is('terminal')).toEqual([]);
    expect(new Follower(life()).hears(1, 3).is('left')).toEqual([]);
    expect(new Follower(life(), 7).is('terminal')).toEqual([]);
  });

  it('misses nothing, neither at the beginning, nor in between, nor at the end', () => {
    const missing = (seq: number) => [expect.stringContaining(`has not heard of ${seq}`)];
    expect(new Follower(life()).hears(3, 4).is('left')).toEqual(missing(1));
    expect(new Follower(life()).hears(1, 3, 5).is('left')).toEqual(missing(4));
    expect(new Follower(life()).hears(1, 3, 4, 5).is('ended')).toEqual(missing(6));
    expect(new Follower(life()).hears(1, 3).is('terminal')).toEqual(missing(4));
  });

  it('hears nothing twice, nothing of others, and nothing before it is in the log', () => {
    expect(new Follower(life()).hears(1, 3, 3).is('left')).toEqual([expect.stringContaining('again')]);
    expect(new Follower(life()).hears(1, 2, 3).is('left')).toEqual([
      expect.stringContaining('not in its life'),
    ]);
    const early = life(3);
    new Follower(early).hears(1, 3, 4);
    early.entry('SessionChanged', { session_id: ID, state: 'READY' });
    expect(complaints(heard, early)).toEqual([expect.stringContaining('before it is durable')]);
  });

  it('is sent away only from a session that has ended', () => {
    const goesOn = [expect.stringContaining('goes on')];
    expect(new Follower(life(4)).hears(1, 3, 4).is('terminal')).toEqual(goesOn);
    expect(new Follower(life(4)).hears(1, 3, 4).is('not-found')).toEqual(goesOn);
    expect(new Follower(life()).hears(1, 3).is('not-found')).toEqual([]);
    expect(new Follower(life(4)).is('gone')).toEqual(goesOn);
    expect(new Follower(life()).is('gone')).toEqual([]);
  });

  it('cannot hear what was compacted away', () => {
    const story = life();
    for (let seq = 4; seq <= 6; seq++)
      story.entry('SessionChanged', { session_id: ID, state: LIFE[seq - 2]! }, seq, 'log');
    const late = new Follower(story).hears(4, 5, 6);
    for (const event of story.events)
      if (event.kind === 'entry' && event.source === 'log')
        Object.assign(event, { atMs: timeOf(story, event.seq) });
    expect(late.is('ended')).toEqual([]);
  });
});

/** When an entry was written. */
function timeOf({ events }: Story, seq: number): number {
  const first = events.find((event) => event.kind === 'entry' && event.seq === seq);
  return first?.kind === 'entry' ? first.atMs : 0;
}
