// The checker of schedules, on histories that are right and on such that are not.
import { describe, expect, it } from 'vitest';
import type { Json } from '../plan.ts';
import { schedules } from './schedules.ts';
import { at, complaints, Story } from './story.ts';

const EVERY_MS = 1_000;

/** A schedule that is due every second, first at the full second after it was set. */
function set(story: Story, dueMs: number | null, fields: Record<string, Json> = {}): Story {
  const next = dueMs === null ? null : at(dueMs);
  return story.entry('ScheduleSet', {
    schedule: 's',
    every_ms: EVERY_MS,
    overlap: 'allow',
    catch_up: 'one',
    jitter_ms: 0,
    next_due_at: next,
    next_fires_at: next,
    ...fields,
  });
}

function fired(story: Story, dueMs: number, fields: Record<string, Json> = {}): Story {
  const throughMs = typeof fields.through === 'number' ? fields.through : dueMs;
  const { through: _, ...rest } = fields;
  return story.entry('ScheduleFired', {
    schedule: 's',
    due_at: at(dueMs),
    fires_at: at(dueMs),
    task_id: `s@${at(dueMs)}`,
    next_due_at: at(throughMs + EVERY_MS),
    next_fires_at: at(throughMs + EVERY_MS),
    ...(throughMs === dueMs ? {} : { skipped_through: at(throughMs) }),
    ...rest,
  });
}

const skipped = (story: Story, dueMs: number, why: string, fields: Record<string, Json> = {}): Story =>
  fired(story, dueMs, { task_id: null, skipped: why, ...fields });

/** At so many milliseconds after the start. */
function when(story: Story, ms: number): Story {
  story.nowMs = ms;
  return story;
}

const said = (story: Story): string[] => complaints(schedules, story);
const about = (words: string): unknown[] => [expect.stringContaining(words)];

describe('due times', () => {
  const good = (): Story => fired(when(set(new Story(), 1_000), 1_000), 1_000);

  it('are fine when each fires once, in order', () => {
    expect(said(fired(when(good(), 2_005), 2_000))).toEqual([]);
  });

  it('may not fire twice', () => {
    expect(said(fired(when(good(), 1_500), 1_000))).toEqual(about('fires twice'));
  });

  it('may not be left out, by a firing or by a batch that passes them by', () => {
    expect(said(fired(when(good(), 3_000), 3_000))).toEqual(about('is lost'));
    expect(said(when(good(), 2_000).created('t').created('u'))).toEqual(about('passed it by'));
  });

  it('may wait for the next batch when one has fired as many as it may', () => {
    const missed = (count: number): Story => {
      const story = set(new Story(), 1_000, { catch_up: 'all' });
      when(story, 300_500).entry('EpochStarted', { epoch: 2 });
      for (let due = 1; due <= count; due++) fired(when(story, 300_500), due * EVERY_MS);
      return when(when(story, 300_500).created('t'), 300_600);
    };
    expect(said(fired(missed(250), 251_000))).toEqual([]);
    expect(said(fired(missed(249), 250_000))).toEqual(about('passed it by'));
  });

  it('may not be early, nor later than their jitter', () => {
    expect(said(fired(when(good(), 1_990), 2_000))).toEqual(about('is to fire at'));
    expect(said(fired(when(good(), 2_500), 2_000, { fires_at: at(2_100) }))).toEqual(about('is to fire at'));
  });

  it('may not be lost when a schedule is changed or removed', () => {
    expect(said(set(when(good(), 2_000), 3_000))).toEqual(about('is lost'));
    expect(said(when(good(), 2_000).entry('ScheduleRemoved', { schedule: 's' }))).toEqual(about('is lost'));
  });

  it('begin after the schedule was set, at once', () => {
    expect(said(set(when(new Story(), 5_000), 5_000))).toEqual(about('due first'));
    expect(said(set(when(new Story(), 5_000), 6_001))).toEqual(about('due first'));
  });

  it('are none while it is paused', () => {
    const paused = set(when(good(), 1_500), null, { paused: true });
    expect(said(when(paused, 9_000).created('t').created('u'))).toEqual([]);
    expect(said(fired(when(paused, 9_500), 2_000))).toEqual(about('is lost'));
  });
});

describe('overlapping', () => {
  const running = (overlap: string): Story => fired(when(set(new Story(), 1_000, { overlap }), 1_000), 1_000);

  it('is skipped, or allowed, as the schedule says', () => {
    expect(said(skipped(when(running('skip'), 2_000), 2_000, 'OVERLAP'))).toEqual([]);
    expect(said(fired(when(running('allow'), 2_000), 2_000))).toEqual([]);
    expect(said(fired(when(running('skip'), 2_000), 2_000))).toEqual(about('beside an earlier one'));
    expect(said(skipped(when(running('allow'), 2_000), 2_000, 'OVERLAP'))).toEqual(about('nothing overlaps'));
  });

  it('ends with the task', () => {
    const ended = running('skip').onTask('TaskCompleted', `s@${at(1_000)}`, 0);
    expect(said(skipped(when(ended, 2_000), 2_000, 'OVERLAP'))).toEqual(about('nothing overlaps'));
  });
});

describe('catching up', () => {
  /** Down from before 1 000 until 5 500. */
  const down = (catchUp: string): Story =>
    when(set(new Story(), 1_000, { catch_up: catchUp }), 5_500).entry('EpochStarted', { epoch: 2 });

  it('fires the latest that was missed', () => {
    const one = skipped(down('one'), 1_000, 'CATCH_UP', { through: 4_000 });
    expect(said(fired(one, 5_000))).toEqual([]);
    const none = skipped(down('one'), 1_000, 'CATCH_UP', { through: 5_000 });
    expect(said(fired(when(none, 6_000), 6_000))).toEqual(about('does not fire'));
  });

  it('fires none, or all', () => {
    expect(said(skipped(down('none'), 1_000, 'CATCH_UP', { through: 5_000 }))).toEqual([]);
    expect(said(fired(down('none'), 1_000))).toEqual(about('is caught up'));
    expect(said(skipped(down('all'), 1_000, 'CATCH_UP', { through: 5_000 }))).toEqual(
      about('was not missed'),
    );
  });

  it('may fire or be skipped where the start of the epoch is not shown and may have been before or after', () => {
    const unseen = (ms: number): Story => {
      const story = when(set(new Story(), 1_000, { catch_up: 'none' }), ms).created('t');
      story.boot();
      return when(story, 1_001);
    };
    expect(said(fired(unseen(900), 1_000))).toEqual([]);
    expect(said(skipped(unseen(900), 1_000, 'CATCH_UP'))).toEqual([]);
    expect(said(fired(unseen(1_000), 1_000))).toEqual([]);
  });

  it('fires a thousand with all, and skips the rest', () => {
    const long = () =>
      when(set(new Story(), 1_000, { catch_up: 'all' }), 1_500_000).entry('EpochStarted', { epoch: 2 });
    expect(said(skipped(long(), 1_000, 'CATCH_UP', { through: 499_000 }))).toEqual([]);
    expect(said(skipped(long(), 1_000, 'CATCH_UP', { through: 501_000 }))).toEqual(about('was not missed'));
  });

  it('skips nothing that was not missed', () => {
    const story = when(set(new Story(), 1_000, { catch_up: 'none' }), 1_000);
    expect(said(skipped(story, 1_000, 'CATCH_UP'))).toEqual(about('was not missed'));
  });
});
