// Random histories against the invariants, against a simple model of ownership, and against themselves: what is live is
// what replay gives, at every prefix of every log, and what an image gives back answers every further question alike.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { calendar } from '../../src/authority/calendar.ts';
import { apply } from '../../src/core/apply.ts';
import { isRefusal } from '../../src/core/decision.ts';
import { entryToJson } from '../../src/core/entry-to-json.ts';
import { checkInvariants } from '../../src/core/invariants.ts';
import { Machine } from '../../src/core/machine.ts';
import { createState, type State } from '../../src/core/state.ts';
import { stateHash } from '../../src/core/state-hash.ts';
import { LimitsModel } from '../support/limits-model.ts';
import { OwnershipModel } from '../support/ownership-model.ts';
import { type HistoryStep, histories, play, playTogether, SEED } from '../support/random-history.ts';
import { type LoggedFact, restoredFrom, Scenario, TestTicket } from '../support/scenario.ts';

/** So short that forgetting is part of most histories. */
const RETENTION = {
  completedTasksMs: 60,
  completedTasksMax: 2,
  failedTasksMs: 110,
  failedTasksMax: 3,
  idleNamesMs: 40,
  idleNamesMax: 2,
  endedSessionsMs: 50,
  endedSessionsMax: 3,
};

const READABLE = { instant: (ms: number) => new Date(ms).toISOString(), open: () => null };

function played(history: readonly HistoryStep[], watch: 'every apply' | 'end' = 'every apply'): Scenario {
  const story = new Scenario({ retention: RETENTION, watch });
  for (const [number, step] of history.entries()) play(story, step, number);
  return story;
}

function replayed(log: readonly LoggedFact[], seed = 0): State {
  const state = createState(seed);
  for (const { seq, atMs, entry } of log) apply(state, entry, seq, atMs);
  return state;
}

describe('any history', () => {
  it('keeps every invariant, and every prefix of its log replays to what was live then', () => {
    fc.assert(
      fc.property(histories({ maxLength: 80, waits: true, restarts: true }), (history) => {
        played(history).end();
      }),
      { seed: SEED, numRuns: 80 },
    );
  });

  it('does so too when several commands arrive at once and the bounds of a batch are small', () => {
    const few = fc.integer({ min: 1, max: 3 });
    const bounds = fc.record({
      expiries: few,
      wakes: few,
      fedQueues: few,
      leasedBytes: few,
      firings: few,
      firedBytes: few,
    });
    const shape = histories({ maxLength: 150, waits: true, restarts: false });
    fc.assert(
      fc.property(shape, bounds, fc.integer({ min: 2, max: 5 }), (history, bounds, together) => {
        const story = new Scenario({ retention: RETENTION, bounds, watch: 'end' });
        for (let from = 0; from < history.length; from += together) {
          playTogether(story, history.slice(from, from + together), from);
          checkInvariants(story.state);
        }
        story.end();
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  it('replays to the same hash however often, whatever the seed of the hash tables', () => {
    fc.assert(
      fc.property(histories({ maxLength: 60, waits: true, restarts: true }), fc.nat(), (history, seed) => {
        const { log, state } = played(history, 'end');
        expect(stateHash(replayed(log))).toBe(stateHash(state));
        expect(stateHash(replayed(log, seed))).toBe(stateHash(state));
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('plays the same way twice', () => {
    fc.assert(
      fc.property(histories({ maxLength: 60, waits: true, restarts: true }), (history) => {
        const [one, two] = [played(history, 'end'), played(history, 'end')];
        expect(two.log.map(({ seq, atMs, entry }) => ({ seq, atMs, type: entry.type }))).toEqual(
          one.log.map(({ seq, atMs, entry }) => ({ seq, atMs, type: entry.type })),
        );
        expect(stateHash(two.state)).toBe(stateHash(one.state));
      }),
      { seed: SEED, numRuns: 30 },
    );
  });

  it('has at most one owner for everything at any time, and only owners act', () => {
    fc.assert(
      fc.property(histories({ maxLength: 120, waits: true, restarts: true }), (history) => {
        const story = new Scenario({ retention: RETENTION, watch: 'end' });
        const model = new OwnershipModel();
        let read = 0;
        for (const [number, step] of history.entries()) {
          play(story, step, number);
          for (; read < story.log.length; read++) {
            const { seq, atMs, entry } = story.log[read]!;
            model.observe(seq, atMs, entry);
          }
          checkAnswer(story, model, number, step);
        }
      }),
      { seed: SEED, numRuns: 150 },
    );
  });

  it('grants within its limits at every position, and keys take turns', () => {
    fc.assert(
      fc.property(histories({ maxLength: 150, waits: true, restarts: true }), (history) => {
        const model = new LimitsModel();
        for (const { seq, atMs, entry } of played(history, 'end').log)
          expect(model.observe(seq, atMs, entryToJson(entry, seq, atMs, READABLE))).toBeNull();
      }),
      { seed: SEED, numRuns: 120 },
    );
  });

  it('is unchanged by an image at any point: the same hash, the same answers, the same log from there', () => {
    fc.assert(
      fc.property(
        fc
          .constantFrom([null], ['k1'])
          .chain((keys) =>
            fc.tuple(
              histories({ maxLength: 60, waits: false, restarts: true, keys }),
              histories({ maxLength: 40, waits: false, restarts: false, keys }),
            ),
          ),
        ([before, after]) => {
          const story = played(before, 'end');
          const twin = new Twin(story);
          expect(stateHash(twin.state)).toBe(stateHash(story.state));
          for (const [number, step] of after.entries()) {
            const read = story.log.length;
            story.moveBy(step.afterMs);
            twin.begin(story.machine.batchAtMs);
            if (typeof step.act !== 'function') continue;
            const command = step.act(story.state);
            const copy = structuredClone(command);
            story.run(command, `later ${number}`);
            expect(comparable(twin.run(copy))).toBe(comparable(story.answer));
            expect(comparable(twin.takeEntries())).toBe(
              comparable(story.log.slice(read).map(({ entry }) => entry)),
            );
            expect(stateHash(twin.state)).toBe(stateHash(story.state));
          }
          checkInvariants(twin.state);
        },
      ),
      { seed: SEED, numRuns: 120 },
    );
  });
});

/** A machine on a state that was read back from an image. */
class Twin {
  readonly state: State;
  private readonly machine: Machine;
  private nowMs = 0;

  constructor(story: Scenario) {
    this.state = restoredFrom(story.state);
    this.machine = new Machine(this.state, RETENTION, undefined, undefined, calendar);
    this.machine.batch.begin(1_000_000);
  }

  /** The entries since this was last asked. */
  takeEntries(): unknown[] {
    return this.machine.batch.entries.splice(0).map(({ entry }) => entry);
  }

  begin(nowMs: number): void {
    this.nowMs = nowMs;
    this.machine.begin(nowMs);
  }

  run(command: Parameters<Machine['run']>[0]) {
    this.machine.begin(this.nowMs);
    const answer = this.machine.run(command, new TestTicket());
    this.machine.end();
    return answer;
  }
}

/** Without the places where logs keep bytes: each log has its own. */
function comparable(value: unknown): string {
  return JSON.stringify(value, (field, inner) => (field === 'at' || field === 'bytes' ? undefined : inner));
}

/** What the model must say about an answer that has just been given. */
function checkAnswer(story: Scenario, model: OwnershipModel, number: number, step: HistoryStep): void {
  if (typeof step.act !== 'function') return;
  const { answer } = story.ticket(`#${number}`);
  if (answer === null || !isRefusal(answer) || answer.refused !== 'LEASE_HELD') return;
  // A refused caller met a live holder, or a line with waiters.
  const nowMs = story.machine.batchAtMs;
  const holder = answer.holder!;
  const holds = [...model.names.keys()].some((name) => model.holderOf(name, nowMs) === holder);
  expect(holds || answer.remainingMs === 0, `${holder} is in the way`).toBe(true);
}
