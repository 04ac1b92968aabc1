// One plan, run and judged: twice, because a run that cannot be repeated bit by bit proves nothing. What comes out is
// plain data that can travel between processes.
import { judge } from '../checkers/all.ts';
import type { History, HistoryEvent } from '../history.ts';
import type { Plan } from '../plan.ts';
import { planFrom } from '../plan-from.ts';
import { simulate } from '../simulate.ts';

export interface Job {
  /** What to run; a plan that was cut down, or just the seed of one. */
  readonly plan: Plan | number;
  readonly isRepeated: boolean;
}

export interface Finding {
  readonly checker: string;
  readonly says: string;
  readonly proof: readonly HistoryEvent[];
}

export interface Outcome {
  readonly seed: number;
  readonly hash: string;
  readonly findings: readonly Finding[];
  /** The newest events, for the report of a failure; empty when all is well. */
  readonly tail: readonly HistoryEvent[];
  readonly counts: History['counts'];
  /** How often each kind of fault happened, each operation was called and each kind of entry was written. */
  readonly seen: Readonly<Record<string, number>>;
  readonly tookMs: number;
}

/** A report shows the worst of them; more would hide it. */
const FINDINGS_MAX = 20;
const TAIL_EVENTS = 40;

export async function runPlan({ plan: wanted, isRepeated }: Job): Promise<Outcome> {
  const fromMs = performance.now();
  const plan = typeof wanted === 'number' ? planFrom(wanted) : wanted;
  const history = await simulate(plan);
  const findings: Finding[] = judge(history).slice(0, FINDINGS_MAX);
  if (isRepeated) {
    const again = await simulate(plan);
    if (again.hash !== history.hash) findings.push(differenceOf(history, again));
  }
  const { hash, counts, events } = history;
  const tail = findings.length === 0 ? [] : events.slice(-TAIL_EVENTS);
  return {
    seed: plan.seed,
    hash,
    findings,
    tail,
    counts,
    seen: seenIn(events),
    tookMs: performance.now() - fromMs,
  };
}

function differenceOf(first: History, second: History): Finding {
  const place = first.events.findIndex(
    (event, index) => JSON.stringify(event) !== JSON.stringify(second.events[index]),
  );
  const proof = [first.events[place], second.events[place]].filter((event) => event !== undefined);
  return {
    checker: 'deterministic',
    says: `two runs of one plan differ from event ${place} on`,
    proof,
  };
}

function seenIn(events: readonly HistoryEvent[]): Record<string, number> {
  const seen: Record<string, number> = {};
  for (const event of events) {
    if (event.kind === 'fault') seen[event.fault] = (seen[event.fault] ?? 0) + 1;
  }
  return seen;
}
