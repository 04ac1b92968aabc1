// Is there one order of these operations in which each gives the answer it gave, and which respects who came before whom?
// The search is that of Wing and Gong with Lowe's memory: an operation may come next if no other one had been answered
// before it was called; a set of operations done, together with the state it led to, is never tried twice. Operations
// without an answer are open: each may take effect at any time after its call, or never. It knows nothing of leases.
import { NONE, Pending } from './pending.ts';

export interface Operation<Input> {
  readonly id: string;
  /** When it was called, and when its answer arrived: any numbers that grow. Infinity: no answer ever came. */
  readonly calledAt: number;
  readonly answeredAt: number;
  readonly input: Input;
  /** Among several that may come next, those with lower hints are tried first. It makes the search quick and decides nothing. */
  readonly hint: number;
}

export interface Model<State, Input> {
  readonly initial: State;
  /** The states that the operation may lead to with the answer it got; none when it could not have got it. */
  step(state: State, input: Input): readonly State[];
  /** Two states with the same key allow the same futures. */
  key(state: State): string;
}

export type Verdict<Input> =
  | { readonly kind: 'linearisable' }
  /** No order exists. `stuck` are the operations none of which can come next after the longest order that was found. */
  | {
      readonly kind: 'impossible';
      readonly longest: readonly Operation<Input>[];
      readonly stuck: readonly Operation<Input>[];
    }
  /** The search was given up; this says nothing about the history. */
  | { readonly kind: 'unknown' };

/** Steps of the model after which the search gives up, so that a bad history cannot hold up a run. */
const STEPS_MAX = 2_000_000;

interface Frame<State> {
  readonly state: State;
  /** Which candidate is being tried, and where among the states it leads to the search goes on. */
  candidate: number;
  branch: number;
  branches: readonly State[];
  /** The operation whose linearisation led here; NONE for the first frame. */
  readonly operation: number;
}

export function linearise<State, Input>(
  model: Model<State, Input>,
  operations: readonly Operation<Input>[],
  stepsMax: number = STEPS_MAX,
): Verdict<Input> {
  const ordered = [...operations].sort((a, b) => a.calledAt - b.calledAt);
  const pending = new Pending(ordered);
  const seen = new Set<string>();
  const stack: Frame<State>[] = [];
  let longest: readonly number[] = [];
  let steps = 0;

  const push = (state: State, operation: number): void => {
    stack.push({ state, candidate: NONE, branch: 0, branches: [], operation });
  };

  push(model.initial, NONE);
  for (;;) {
    const frame = stack.at(-1);
    if (frame === undefined) break;
    // What is left has no answer, so it need not have happened.
    if (pending.isAnsweredEmpty) return { kind: 'linearisable' };
    if (frame.branch < frame.branches.length) {
      const next = frame.branches[frame.branch]!;
      frame.branch += 1;
      pending.take(frame.candidate);
      const key = `${pending.key}|${model.key(next)}`;
      if (seen.has(key)) {
        pending.putBack(frame.candidate);
        continue;
      }
      seen.add(key);
      push(next, frame.candidate);
      continue;
    }
    const candidate = pending.candidate(frame.candidate);
    if (candidate !== NONE) {
      steps += 1;
      if (steps > stepsMax) return { kind: 'unknown' };
      frame.branches = model.step(frame.state, ordered[candidate]!.input);
      frame.branch = 0;
      frame.candidate = candidate;
      continue;
    }
    if (stack.length > longest.length + 1) longest = stack.slice(1).map((each) => each.operation);
    stack.pop();
    if (frame.operation !== NONE) pending.putBack(frame.operation);
  }

  for (const operation of longest) pending.take(operation);
  const stuck: Operation<Input>[] = [];
  for (let next = pending.candidate(); next !== NONE; next = pending.candidate(next))
    stuck.push(ordered[next]!);
  return { kind: 'impossible', longest: longest.map((index) => ordered[index]!), stuck };
}
