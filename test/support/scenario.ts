// The scenario language: what is given, what happens, what must follow. Behind it stands the real machine with a log
// that is an array. The language watches on its own: after every apply the invariants are checked and nothing was
// taken back; at the end the log is replayed entry by entry into an empty state, every prefix of it must be valid and
// equal to what was live at that moment, and the image of the end must read back as the same state.
import { expect, onTestFinished } from 'vitest';
import { calendar } from '../../src/authority/calendar.ts';
import type { Answer, GrantedNames, SessionView } from '../../src/core/answers.ts';
import { apply } from '../../src/core/apply.ts';
import { Batch } from '../../src/core/batch.ts';
import type { Command } from '../../src/core/commands.ts';
import { isRefusal } from '../../src/core/decision.ts';
import type { Entry, EntryType, Forgotten } from '../../src/core/entries.ts';
import type { NameImage, TaskImage } from '../../src/core/image.ts';
import { imageOf, restoreImage } from '../../src/core/image-io.ts';
import { checkInvariants, checkStep } from '../../src/core/invariants.ts';
import type { Ticket, Waiter } from '../../src/core/lines.ts';
import { Machine, type MachineBounds } from '../../src/core/machine.ts';
import type { Refusal, RefusalCode } from '../../src/core/refusals.ts';
import { type Retention, type RetentionFigures, retentionFrom } from '../../src/core/retention.ts';
import type { NameRow, TaskRow } from '../../src/core/row-types.ts';
import { sessionView } from '../../src/core/sessions/session-table.ts';
import { createState, type State } from '../../src/core/state.ts';
import { stateHash } from '../../src/core/state-hash.ts';
import { type StateSummary, summaryOf } from '../../src/core/step-invariants.ts';
import { type CommandBuilder, newestSession } from './commands.ts';

/** When every story begins. */
export const START_MS = 10_000;

/** Nothing is forgotten unless the story is about forgetting. */
const KEEP_ALL: Retention = {
  completedTasksMs: 1e12,
  completedTasksMax: 1e9,
  failedTasksMs: 1e12,
  failedTasksMax: 1e9,
  idleNamesMs: 1e12,
  idleNamesMax: 1e9,
  endedSessionsMs: 1e12,
  endedSessionsMax: 1e9,
};

export interface ScenarioOptions {
  readonly retention?: RetentionFigures;
  /** How little a batch does at once; what happens at these bounds is seen only where they are small. */
  readonly bounds?: MachineBounds;
  /** `end`: for stories with thousands of subjects, look only when they are over. */
  readonly watch?: 'every apply' | 'end';
}

export interface LoggedFact {
  readonly seq: number;
  readonly atMs: number;
  readonly entry: Entry;
}

/** Anything that moves a story on: a command, or something that happens to the machine. */
export type Step = CommandBuilder | Happening;
type Happening = { readonly happens: (scenario: Scenario) => void };

export class TestTicket implements Ticket {
  open = true;
  waiter: Parameters<Ticket['waits']>[0] | null = null;
  answer: Answer | Refusal | null = null;

  settle(answer: Answer | Refusal): void {
    expect(this.answer, 'a ticket is settled once').toBeNull();
    this.answer = answer;
  }

  waits(waiter: Waiter<never>): void {
    this.waiter = waiter;
  }
}

/** One for the whole story: positions grow, and waiting callers are told at once. */
class WatchedBatch extends Batch {
  private readonly story: Scenario;

  constructor(story: Scenario) {
    super();
    this.story = story;
    this.begin(1);
  }

  override add(entry: Entry, seq: number, atMs: number, dueMs: number): void {
    super.add(entry, seq, atMs, dueMs);
    this.story.note({ seq, atMs, entry });
  }

  override settle(ticket: Ticket, answer: Answer | Refusal): void {
    (ticket as TestTicket).settle(answer);
  }
}

export class Scenario {
  state: State = createState();
  machine: Machine;
  readonly log: LoggedFact[] = [];
  /** The answer to the last command; null while it waits. */
  answer: Answer | Refusal | null = null;
  private readonly retention: Retention;
  private readonly bounds: MachineBounds | undefined;
  private readonly watch: NonNullable<ScenarioOptions['watch']>;
  private readonly tickets = new Map<string, TestTicket>();
  private readonly hashes = new Map<number, string>();
  private summary: StateSummary;
  private nowMs = START_MS;
  private readonly batch = new WatchedBatch(this);
  private loggedBefore = 0;
  private hashBefore = '';
  /** The command that is being decided. */
  private running: Command | null = null;

  constructor({ retention = {}, bounds, watch = 'every apply' }: ScenarioOptions = {}) {
    this.retention = retentionFrom(retention, KEEP_ALL);
    this.bounds = bounds;
    this.watch = watch;
    this.summary = summaryOf(this.state);
    this.machine = this.createMachine();
    this.startEpoch();
  }

  // --- given ---------------------------------------------------------------------------------------

  /** Steps that are no part of the question; none of them may be refused. */
  given(...steps: readonly Step[]): this {
    for (const step of steps) {
      this.perform(step);
      if (this.answer !== null && isRefusal(this.answer)) {
        throw new Error(`The story cannot begin: ${JSON.stringify(this.answer)}`);
      }
    }
    return this;
  }

  /** The step under test, at its time. `as` names a caller that has to wait. */
  when(step: Step, { atMs = this.nowMs, as = '' }: { atMs?: number; as?: string } = {}): this {
    this.loggedBefore = this.log.length;
    this.hashBefore = stateHash(this.state);
    this.nowMs = atMs;
    this.perform(step, as);
    return this;
  }

  // --- then ----------------------------------------------------------------------------------------

  thenAnswers(answer: Partial<Answer> | Record<string, unknown>): this {
    expect(this.answer).toMatchObject(answer);
    expect(this.answer).not.toHaveProperty('refused');
    return this;
  }

  /** Refused, and nothing has changed. */
  thenRefuses(code: RefusalCode, more: Partial<Refusal> = {}): this {
    expect(this.answer).toMatchObject({ refused: code, ...more });
    return this.thenRecordsNothingBut();
  }

  thenCommits(more: Record<string, unknown> = {}): this {
    return this.thenAnswers({ outcome: 'COMMITTED', ...more });
  }

  thenCancels(more: Record<string, unknown> = {}): this {
    return this.thenAnswers({ outcome: 'CANCELLED', ...more });
  }

  /** The tasks that were leased, in this order. */
  thenLeases(...taskIds: readonly string[]): this {
    expect(leasedTasks(this.answer)).toEqual(taskIds);
    return this;
  }

  /** Exactly these entries, in this order. */
  thenRecords(...types: readonly EntryType[]): this {
    expect(this.entries.map(({ type }) => type)).toEqual(types);
    return this;
  }

  thenRecordsEntry(entry: Partial<Entry> & { type: EntryType }): this {
    expect(this.entries).toContainEqual(expect.objectContaining(entry));
    return this;
  }

  thenRecordsNothing(): this {
    expect(this.entries).toEqual([]);
    expect(stateHash(this.state)).toBe(this.hashBefore);
    return this;
  }

  thenTask(taskId: string, expected: Partial<TaskImage> | Record<string, unknown>): this {
    expect(this.task(taskId)).toMatchObject(expected);
    return this;
  }

  thenName(name: string, expected: Partial<NameImage> | Record<string, unknown>): this {
    expect(this.name(name)).toMatchObject(expected);
    return this;
  }

  /** The newest session unless another one is named. */
  thenSession(expected: Partial<SessionView>, sessionId = newestSession(this.state)): this {
    expect(this.session(sessionId)).toMatchObject(expected);
    return this;
  }

  thenWaits(): this {
    expect(this.answer).toBeNull();
    return this;
  }

  /** The answer that a waiter got. */
  thenServes(who: string, answer: Record<string, unknown>): this {
    expect(this.ticket(who).answer, who).toMatchObject(answer);
    return this;
  }

  thenStillWaits(...all: readonly string[]): this {
    for (const who of all) expect(this.ticket(who).answer, who).toBeNull();
    return this;
  }

  // --- looking -------------------------------------------------------------------------------------

  /** What the last `when` wrote. */
  get entries(): readonly Entry[] {
    return this.log.slice(this.loggedBefore).map(({ entry }) => entry);
  }

  task(taskId: string): TaskImage {
    const row = this.state.tasks.find(taskId);
    expect(row, `task ${taskId}`).toBeGreaterThan(0);
    return this.state.tasks.image(row as TaskRow);
  }

  name(name: string): NameImage {
    const row = this.state.names.find(name);
    expect(row, `name ${name}`).toBeGreaterThan(0);
    return this.state.names.image(row as NameRow);
  }

  session(sessionId = newestSession(this.state)): SessionView {
    const session = this.state.sessions.find(sessionId);
    expect(session, `session ${sessionId}`).toBeDefined();
    return sessionView(session!);
  }

  ticket(who: string): TestTicket {
    const ticket = this.tickets.get(who);
    if (ticket === undefined) throw new Error(`No caller has the name ${who}.`);
    return ticket;
  }

  /** Everybody with a name who has not been answered, and whose machine still runs. */
  waiting(): string[] {
    const waiters = new Set([...this.machine.lines.all()].map(({ ticket }) => ticket));
    return [...this.tickets].filter(([, ticket]) => waiters.has(ticket)).map(([who]) => who);
  }

  // --- moving --------------------------------------------------------------------------------------

  /** One command in its own batch. */
  run(command: Command, as = ''): Answer | Refusal | null {
    return this.runTogether([[() => command, as]]);
  }

  /** Commands that arrive in one batch, each with the name of its caller. */
  runTogether(builders: readonly (readonly [CommandBuilder, string])[]): Answer | Refusal | null {
    this.machine.begin(this.nowMs);
    for (const [build, as] of builders) {
      const ticket = new TestTicket();
      if (as !== '') this.tickets.set(as, ticket);
      this.running = build(this.state);
      this.answer = this.machine.run(this.running, ticket);
      this.running = null;
      this.checkNumbers();
      if (this.answer !== null && as !== '') ticket.settle(this.answer);
    }
    this.machine.end();
    this.observe();
    return this.answer;
  }

  /** A fencing number that is given out is where in the log the name was granted, and to whom. */
  private checkNumbers(): void {
    const { leases = [] } = (this.answer ?? {}) as Partial<GrantedNames>;
    for (const { name, holder, leaseSeq } of leases) {
      if (name === undefined) continue;
      const granted = this.log.find(({ seq }) => seq === leaseSeq)?.entry;
      expect(granted, `what ${leaseSeq} stands for`).toMatchObject({
        names: expect.arrayContaining([name]),
        holder,
      });
    }
  }

  moveTo(nowMs: number): void {
    this.nowMs = nowMs;
    this.machine.begin(nowMs);
    this.observe();
  }

  moveBy(ms: number): void {
    this.moveTo(this.nowMs + ms);
  }

  hangUp(who: string): void {
    this.ticket(who).open = false;
  }

  leave(who: string): void {
    const { waiter } = this.ticket(who);
    expect(waiter, `${who} waits`).not.toBeNull();
    this.hangUp(who);
    this.machine.lines.leave(waiter!);
    this.observe();
  }

  /** The process dies and another one begins: all it has is the log. Lines and clocks are gone. */
  restart(downMs: number, from: 'log' | 'image' = 'log'): void {
    this.state = from === 'log' ? this.replay() : restoredFrom(this.state);
    this.machine = this.createMachine();
    this.nowMs += downMs;
    this.startEpoch();
  }

  /** The log was brought back from a backup: positions jump, every lease is over. */
  restore(jump: number): void {
    this.state = this.replay();
    const seq = this.state.lastSeq + jump;
    const epoch = this.state.epoch + 1;
    const atMs = Math.max(this.nowMs, this.state.lastAtMs);
    const entry: Entry = { type: 'EpochStarted', epoch, format: 'leasehold', version: 1, restored: true };
    this.log.push({ seq, atMs, entry });
    apply(this.state, entry, seq, atMs);
    this.machine = this.createMachine();
    this.observe();
    this.moveTo(this.nowMs);
  }

  /** All prefixes of the log, replayed; the state of the last one. */
  replay(): State {
    // Another seed for the hashes: it must not change anything.
    const state = createState(0x5eed);
    let summary = summaryOf(state);
    for (const { seq, atMs, entry } of this.log) {
      apply(state, entry, seq, atMs);
      if (this.watch === 'end') continue;
      checkInvariants(state);
      const next = summaryOf(state);
      checkStep(summary, next);
      summary = next;
      const live = this.hashes.get(seq);
      if (live !== undefined) expect(stateHash(state), `replayed up to ${seq}`).toBe(live);
    }
    return state;
  }

  /** Live and replayed state are one; so is what an image gives back. */
  end(): void {
    this.observe();
    const hash = stateHash(this.state);
    const replayed = this.replay();
    checkInvariants(replayed);
    expect(stateHash(replayed), 'the replayed state').toBe(hash);
    const restored = restoredFrom(this.state);
    checkInvariants(restored);
    expect(stateHash(restored), 'the state read back from its image').toBe(hash);
  }

  private perform(step: Step, as = ''): void {
    this.answer = null;
    if ('happens' in step) step.happens(this);
    else this.run(step(this.state), as);
  }

  private createMachine(): Machine {
    return new Machine(this.state, this.retention, this.batch, this.bounds, calendar);
  }

  /** Before an entry is applied. */
  note(fact: LoggedFact): void {
    this.observe();
    if (fact.entry.type === 'Forgotten' && !this.isPurging) this.checkForgetting(fact.entry, fact.atMs);
    this.log.push(fact);
  }

  private get isPurging(): boolean {
    return this.running?.type === 'BulkTasks' && this.running.action === 'purge' && !this.running.dryRun;
  }

  /** A task is forgotten because of its own age, or because its own kind are too many. */
  private checkForgetting({ tasks: keys }: Forgotten, atMs: number): void {
    const { tasks } = this.state;
    const failed = new Set<TaskRow>();
    for (let row = tasks.failed.first; row !== 0; row = tasks.failed.next(row)) failed.add(row);
    const surplus = {
      completed: tasks.completed.size - this.retention.completedTasksMax,
      failed: tasks.failed.size - this.retention.failedTasksMax,
    };
    for (const key of keys) {
      const row = tasks.at(key) as TaskRow;
      const kind = failed.has(row) ? 'failed' : 'completed';
      const dueMs = tasks.endedAtMs.get(row) + this.retention[`${kind}TasksMs`];
      expect(surplus[kind] > 0 || dueMs <= atMs, `${tasks.idOf(row)} is forgotten too early`).toBe(true);
      surplus[kind] -= 1;
    }
  }

  private startEpoch(): void {
    this.machine.enter(this.nowMs);
    this.machine.commit({
      type: 'EpochStarted',
      epoch: this.state.epoch + 1,
      format: 'leasehold',
      version: 1,
      restored: false,
    });
    this.machine.begin(this.nowMs);
    this.observe();
  }

  /** Called before every entry and after every command, which is after every apply. */
  private observe(): void {
    if (this.watch === 'end' || this.hashes.has(this.state.lastSeq)) return;
    checkInvariants(this.state);
    const next = summaryOf(this.state);
    checkStep(this.summary, next);
    this.summary = next;
    this.hashes.set(this.state.lastSeq, stateHash(this.state));
  }

  private thenRecordsNothingBut(): this {
    // Due expiries may have been written. The refused command itself writes nothing.
    const written = this.entries.map(({ type }) => type);
    expect(
      written.filter(
        (type) => !['LeaseExpired', 'NameExpired', 'TaskDead', 'Forgotten', 'ScheduleFired'].includes(type),
      ),
    ).toEqual([]);
    return this;
  }
}

/** A story whose end is checked when the test is over. */
export function scenario(options: ScenarioOptions = {}): Scenario {
  const made = new Scenario(options);
  onTestFinished(() => made.end());
  return made;
}

export function given(...steps: readonly Step[]): Scenario {
  return scenario().given(...steps);
}

export function restoredFrom(state: State): State {
  const restored = createState(0xfeed);
  for (const record of imageOf(state)) restoreImage(restored, record);
  return restored;
}

// --- what can happen besides commands -----------------------------------------------------------------

export const at = (nowMs: number): Happening => ({ happens: (story) => story.moveTo(nowMs) });
export const later = (ms: number): Happening => ({ happens: (story) => story.moveBy(ms) });
export const restart = ({ downMs = 0 } = {}): Happening => ({ happens: (story) => story.restart(downMs) });
export const restore = ({ jump = 2 ** 40 } = {}): Happening => ({ happens: (story) => story.restore(jump) });
export const hangUp = (who: string): Happening => ({ happens: (story) => story.hangUp(who) });
export const leave = (who: string): Happening => ({ happens: (story) => story.leave(who) });
/** A named caller sends a command; for those who wait. */
export const by = (who: string, build: CommandBuilder): Happening => ({
  happens: (story) => {
    story.run(build(story.state), who);
  },
});
/** The same again and again. */
export const times = (count: number, ...steps: readonly Step[]): Happening => ({
  happens: (story) => {
    for (let round = 0; round < count; round++) story.given(...steps);
  },
});

export function leasedTasks(answer: Answer | Refusal | null): string[] {
  if (answer === null || !('leases' in answer)) return [];
  return answer.leases.map((lease) => ('taskId' in lease ? lease.taskId : lease.name));
}
