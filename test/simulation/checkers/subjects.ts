// From a history to operations that can be put in order, one subject (a name, a task) at a time: what happens to one never
// depends on another, so each is judged alone. Every entry is an operation, answered at the latest when it was seen
// on the feed; where a call was answered with it, the answer must fit too. A call that was answered without an
// entry changes nothing. A call without an answer is open: if it did anything, its entry is there and is enough.
import type { HistoryEvent } from '../history.ts';
import type { Complain } from './checker.ts';
import { type Makers, makersOf } from './claims.ts';
import { linearise, type Operation } from './linearise.ts';
import type { Call, Era, Fact, Reading } from './reading.ts';

export interface SubjectModel<State> {
  readonly initial: State;
  key(state: State): string;
  /** `known` are all there are; an entry may concern many at once. */
  subjectsOfEntry(fact: Fact, known: ReadonlySet<string>): readonly string[];
  subjectsOfCall(call: Call): readonly string[];
  /** What an entry makes of the state; null when it could not have been written. */
  apply(state: State, fact: Fact, subject: string): State | null;
  /** Whether the answer to a change fits the state before it and its entry. */
  justifies(state: State, call: Call, fact: Fact, subject: string): boolean;
  /** An entry without which an answer that changes nothing could not have been given; 0 when there is none. */
  needs(call: Call, subject: string, era: Era): number;
  /** Whether an answer that changes nothing could be given in this state. */
  allows(state: State, call: Call, subject: string): boolean;
}

interface Step<State> {
  readonly says: string;
  readonly fact: Fact | undefined;
  readonly call: Call | undefined;
  /** The state after it, or null when it cannot come here. */
  next(state: State): State | null;
}

export function judgeSubjects<State>(model: SubjectModel<State>, reading: Reading, complain: Complain): void {
  const none = new Set<string>();
  const known = new Set([
    ...reading.eras.flatMap(({ facts }) => facts.flatMap((fact) => model.subjectsOfEntry(fact, none))),
    ...reading.calls.flatMap((call) => model.subjectsOfCall(call)),
  ]);
  const makers = makersOf(reading);
  let fromPlace = -1;
  for (const era of reading.eras) {
    const toPlace = era.end === undefined ? Number.POSITIVE_INFINITY : reading.placeOf(era.end.boot);
    const isWithin = ({ calledAt, answeredAt }: Call) => calledAt > fromPlace && answeredAt < toPlace;
    judgeEra({ model, known, makers, reading, era, isWithin, complain });
    fromPlace = toPlace;
  }
}

interface Judged<State> {
  readonly model: SubjectModel<State>;
  readonly known: ReadonlySet<string>;
  readonly makers: Makers;
  readonly reading: Reading;
  readonly era: Era;
  /** Whether a call was surely decided in this era. */
  readonly isWithin: (call: Call) => boolean;
  readonly complain: Complain;
}

function judgeEra<State>(judged: Judged<State>): void {
  const { model, complain } = judged;
  const { operations, initial } = operationsOf(judged);
  for (const [subject, all] of operations) {
    const machine = {
      initial: initial.get(subject) ?? model.initial,
      step: (state: State, { next }: Step<State>) => {
        const after = next(state);
        return after === null ? [] : [after];
      },
      key: (state: State) => model.key(state),
    };
    const verdict = linearise(machine, all);
    if (verdict.kind === 'unknown') complain(`${subject}: the search for an order was given up`);
    if (verdict.kind !== 'impossible') continue;
    const last = verdict.longest.at(-1)?.input;
    const stuck = verdict.stuck.slice(0, 3).map(({ input }) => input);
    const nor = stuck.map(({ says }) => says).join(', nor ');
    complain(
      `${subject}: no order fits; after ${last?.says ?? 'nothing'} could not come ${nor}`,
      ...proofOf(last),
      ...stuck.flatMap(proofOf),
    );
  }
}

function proofOf<State>(step: Step<State> | undefined): (HistoryEvent | undefined)[] {
  return [step?.call?.call, step?.call?.answer, step?.fact?.event];
}

interface Operations<State> {
  readonly operations: ReadonlyMap<string, Operation<Step<State>>[]>;
  /** Where an era begins, for the subjects that were kept from the one before. */
  readonly initial: ReadonlyMap<string, State>;
}

function operationsOf<State>({
  model,
  known,
  makers,
  reading,
  era,
  isWithin,
}: Judged<State>): Operations<State> {
  const operations = new Map<string, Operation<Step<State>>[]>();
  const initial = new Map<string, State>();
  const add = (subject: string, operation: Operation<Step<State>>): void => {
    const before = operations.get(subject);
    if (before === undefined) operations.set(subject, [operation]);
    else before.push(operation);
  };
  /** Where in the history each entry was known at the latest, in the order of the log. */
  const knownAt: number[] = [];
  let calledAt = -1;
  for (const [index, fact] of era.facts.entries()) {
    const call = makers.byFact.get(fact);
    // Whatever stands before it in the log was asked for before it happened.
    calledAt = Math.max(calledAt, call?.calledAt ?? -1);
    const answeredAt = Math.min(call?.answeredAt ?? Number.POSITIVE_INFINITY, seenAt(reading, fact));
    knownAt.push(Math.max(answeredAt, knownAt.at(-1) ?? -1));
    for (const subject of model.subjectsOfEntry(fact, known)) {
      if (index < era.kept) {
        const state = initial.get(subject) ?? model.initial;
        initial.set(subject, model.apply(state, fact, subject) ?? state);
      } else {
        add(subject, changeOf(model, subject, fact, call, { calledAt, answeredAt }));
      }
    }
  }
  let seen = 0;
  for (const call of reading.calls) {
    while (seen < knownAt.length && knownAt[seen]! < call.calledAt) seen += 1;
    const seenSeq = era.facts[seen - 1]?.seq ?? 0;
    const made = makers.byCall.get(call);
    if (call.answer === undefined || made === null || !isWithin(call)) continue;
    const changed = new Set(made?.flatMap((fact) => model.subjectsOfEntry(fact, known)));
    for (const subject of model.subjectsOfCall(call)) {
      if (changed.has(subject)) continue;
      add(subject, quietOf(model, subject, call, Math.max(seenSeq, model.needs(call, subject, era))));
    }
  }
  return { operations, initial };
}

function changeOf<State>(
  model: SubjectModel<State>,
  subject: string,
  fact: Fact,
  call: Call | undefined,
  { calledAt, answeredAt }: { calledAt: number; answeredAt: number },
): Operation<Step<State>> {
  const next = (state: State): State | null => {
    if (call !== undefined && !model.justifies(state, call, fact, subject)) return null;
    return model.apply(state, fact, subject);
  };
  const says = `${fact.entry.type} at ${fact.seq}`;
  return { id: `seq ${fact.seq}`, calledAt, answeredAt, hint: fact.seq, input: { says, fact, call, next } };
}

/**
 * Those without an entry change nothing, so they are tried as soon as they could fit, which is never wrong: behind what was
 * known before they were asked, and behind the entry that they need. Trying them sooner would take for ever in a crowd.
 */
function quietOf<State>(
  model: SubjectModel<State>,
  subject: string,
  call: Call,
  behindSeq: number,
): Operation<Step<State>> {
  const next = (state: State): State | null => (model.allows(state, call, subject) ? state : null);
  const { op, id } = call.call;
  const outcome = call.answer!.body.code ?? call.answer!.status;
  const says = `${op} (call ${id}) answered with ${String(outcome)}`;
  const { calledAt, answeredAt } = call;
  const input = { says, fact: undefined, call, next };
  return { id: `call ${id}`, calledAt, answeredAt, hint: behindSeq + 0.5, input };
}

/** From where on an entry is known to have happened. */
function seenAt({ events, placeOf }: Reading, { event, seq }: Fact): number {
  if (event.source !== 'log') return placeOf(event);
  const boot = events.findIndex((each) => each.kind === 'boot' && each.epoch > 0 && each.lastSeq > seq);
  return boot === -1 ? placeOf(event) : boot;
}
