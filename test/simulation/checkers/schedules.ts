// No due time of a schedule fires twice or is lost: each has one entry, in order, on time, that creates its task or says
// rightly why there is none. The log alone is read, by a model that counts even steps and knows no calendar.
import { checker } from './checker.ts';
import type { Fact } from './reading.ts';
import { millis, text, whole } from './reading.ts';

/** With `all`, the rest is skipped. */
const CAUGHT_UP_MAX = 1_000;
/** So many due times fire in one batch; the rest waits for the next. */
const FIRINGS_MAX = 250;

interface Plan {
  readonly set: Fact;
  /** From one due time to the next. */
  readonly stepMs: number;
  readonly jitterMs: number;
  readonly skips: boolean;
  readonly catchUp: string;
  /** NaN while nothing is due. */
  nextDueMs: number;
  nextFiresMs: number;
  last: Fact;
  /** The batch that should have fired it. */
  overdueAtMs: number;
  /** With `one`: the due time after this skip is the latest that was missed, and fires. */
  skipped: Fact | null;
}

export const schedules = checker(
  'schedules',
  'No due time fires twice or is lost, over crashes, clock steps and suspends. Each fires on time and is skipped only because a task of the schedule runs or because it was missed, as catch_up says. What is paused is not due.',
  (reading, complain) => {
    // On a full disk due times wait.
    const isFull = reading.events.some((event) => event.kind === 'fault' && event.fault === 'disk.full');
    for (const era of reading.eras) {
      const model = new Schedules(isFull);
      for (const [index, fact] of era.facts.entries()) {
        const [says, before] = model.observe(fact);
        if (says !== null && index >= era.kept)
          complain(`seq ${fact.seq}: ${says}`, before?.event, fact.event);
      }
    }
  },
);

type Verdict = readonly [says: string | null, before?: Fact];
const FINE: Verdict = [null];

class Schedules {
  private readonly mayWait: boolean;
  private readonly plans = new Map<string, Plan>();
  /** Which schedule made a task that has not ended. */
  private readonly running = new Map<string, string>();
  /** What was to fire before the epoch's start was missed. A start that is not shown lies between these two times. */
  private startedFromMs = 0;
  private startedAtMs = 0;
  private lastSeq = 0;
  private lastAtMs = 0;
  /** Of the batch that is being read. */
  private batchAtMs = 0;
  private firings = 0;

  constructor(mayWait: boolean) {
    this.mayWait = mayWait;
  }

  observe(fact: Fact): Verdict {
    const { entry, seq, atMs } = fact;
    // Where an entry is missing a writer has started: what begins an epoch is not always shown.
    if (entry.type === 'EpochStarted') this.start(atMs, atMs);
    else if (seq > this.lastSeq + 1) this.start(this.lastAtMs, atMs);
    this.lastSeq = seq;
    this.lastAtMs = atMs;
    if (atMs > this.batchAtMs) this.beginBatch(atMs);
    if (entry.type === 'ScheduleFired') this.firings += 1;
    const late = entry.type === 'EpochStarted' ? null : this.lateBefore(fact);
    const name = text(entry.schedule);
    const verdict = late ?? this.judge(name, fact);
    if (entry.type === 'ScheduleSet') this.plans.set(name, planOf(fact));
    if (entry.type === 'ScheduleRemoved') this.plans.delete(name);
    if (entry.type === 'ScheduleFired') this.fired(name, fact);
    const id = text(entry.task_id);
    const isEnded =
      entry.type === 'TaskCompleted' ||
      entry.type === 'TaskDead' ||
      (entry.type === 'TaskFailed' && entry.next_state === 'FAILED');
    if (isEnded) this.running.delete(id);
    return verdict;
  }

  private start(fromMs: number, atMs: number): void {
    this.startedFromMs = fromMs;
    this.startedAtMs = atMs;
    this.excuse();
  }

  private beginBatch(atMs: number): void {
    if (this.firings >= FIRINGS_MAX) this.excuse();
    this.batchAtMs = atMs;
    this.firings = 0;
  }

  /** What is due had no chance to fire yet. */
  private excuse(): void {
    for (const plan of this.plans.values()) plan.overdueAtMs = Number.NaN;
  }

  /** A batch begins with what is due, so the batch after it finds nothing that was due before. */
  private lateBefore({ atMs }: Fact): Verdict | null {
    for (const [name, plan] of this.plans) {
      if (!(plan.nextFiresMs <= atMs)) continue;
      if (Number.isNaN(plan.overdueAtMs)) plan.overdueAtMs = atMs;
      if (atMs > plan.overdueAtMs && !this.mayWait)
        return [
          `${name} was to fire at ${plan.nextFiresMs}, and a batch at ${plan.overdueAtMs} passed it by`,
          plan.last,
        ];
    }
    return null;
  }

  private judge(name: string, fact: Fact): Verdict {
    const { entry, atMs } = fact;
    const plan = this.plans.get(name);
    switch (entry.type) {
      case 'ScheduleSet':
      case 'ScheduleRemoved': {
        if (plan !== undefined && plan.nextFiresMs <= atMs)
          return [`${name} is changed, and ${plan.nextDueMs} is lost`, plan.last];
        const nextMs = millis(entry.next_due_at);
        if (entry.type === 'ScheduleSet' && entry.paused !== true && !isFirst(nextMs, atMs, stepOf(entry)))
          return [`${name} is set, and due first at ${nextMs}`];
        return FINE;
      }
      case 'ScheduleFired':
        if (plan === undefined) return [`${name} fires and is not set`];
        return [this.faultOf(name, plan, fact), plan.last];
      default:
        return FINE;
    }
  }

  private faultOf(name: string, plan: Plan, { entry, seq, atMs }: Fact): string | null {
    const dueMs = millis(entry.due_at);
    const firesMs = millis(entry.fires_at);
    const skipped = entry.skipped ?? null;
    const isRunning = [...this.running.values()].includes(name);
    if (Number.isNaN(dueMs))
      return entry.task_id === `${name}!${seq}` ? null : `${name} has the task ${entry.task_id}`;
    if (dueMs < plan.nextDueMs) return `${dueMs} of ${name} fires twice`;
    if (dueMs !== plan.nextDueMs) return `${plan.nextDueMs} of ${name} is lost, ${dueMs} fires`;
    if (firesMs > atMs || firesMs < dueMs || firesMs > dueMs + plan.jitterMs)
      return `${dueMs} of ${name} is to fire at ${firesMs} and does at ${atMs}`;
    const throughMs = entry.skipped_through === undefined ? dueMs : millis(entry.skipped_through);
    if (throughMs > atMs || (throughMs - dueMs) % plan.stepMs !== 0)
      return `${name} is skipped through ${throughMs}`;
    const nextMs = millis(entry.next_due_at);
    if (nextMs !== throughMs + plan.stepMs) return `${throughMs} of ${name} is followed by ${nextMs}`;
    const mayBeMissed = firesMs < this.startedAtMs;
    const isMissed = firesMs < this.startedFromMs;
    if (plan.skipped !== null && !mayBeMissed) return `the latest of what ${name} missed does not fire`;
    switch (skipped) {
      case null:
        if (entry.task_id !== `${name}@${text(entry.due_at)}`) return `${name} has the task ${entry.task_id}`;
        if (plan.skips && isRunning) return `${dueMs} of ${name} fires beside an earlier one`;
        return isMissed && plan.catchUp === 'none' ? `${dueMs} of ${name} was missed and is caught up` : null;
      case 'OVERLAP':
        return plan.skips && isRunning ? null : `${dueMs} of ${name} is skipped, and nothing overlaps`;
      case 'CATCH_UP': {
        const isLimit = plan.catchUp === 'all' && throughMs + CAUGHT_UP_MAX * plan.stepMs < this.startedAtMs;
        const isPolicy = plan.catchUp !== 'all' || isLimit;
        return mayBeMissed && isPolicy ? null : `${dueMs} of ${name} is skipped, and was not missed`;
      }
      default:
        return `${dueMs} of ${name} is skipped by ${text(skipped)}`;
    }
  }

  private fired(name: string, fact: Fact): void {
    const { entry } = fact;
    const id = text(entry.task_id);
    if (id !== '') this.running.set(id, name);
    const plan = this.plans.get(name);
    if (plan === undefined || Number.isNaN(millis(entry.due_at))) return;
    plan.skipped = entry.skipped === 'CATCH_UP' && plan.catchUp === 'one' ? fact : null;
    plan.nextDueMs = millis(entry.next_due_at);
    plan.nextFiresMs = millis(entry.next_fires_at);
    plan.overdueAtMs = Number.NaN;
    plan.last = fact;
  }
}

function planOf(set: Fact): Plan {
  const { entry } = set;
  return {
    set,
    stepMs: stepOf(entry),
    jitterMs: whole(entry.jitter_ms),
    skips: entry.overlap === 'skip',
    catchUp: text(entry.catch_up),
    nextDueMs: millis(entry.next_due_at),
    nextFiresMs: millis(entry.next_fires_at),
    last: set,
    overdueAtMs: Number.NaN,
    skipped: null,
  };
}

/** The workload has intervals, and patterns of every so many seconds. */
function stepOf(entry: Fact['entry']): number {
  if (entry.every_ms !== undefined) return whole(entry.every_ms);
  const [, seconds = '1'] = /^\*(?:\/(\d+))? /.exec(text(entry.cron)) ?? [];
  return Number(seconds) * 1_000;
}

/** Only times after the entry are due, and the first of them is. */
function isFirst(nextMs: number, atMs: number, stepMs: number): boolean {
  return nextMs > atMs && nextMs <= atMs + stepMs;
}
