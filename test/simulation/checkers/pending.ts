// The operations that are not ordered yet, and which of them may come next: those called before the first answer of
// any remaining one. Two linked lists, one by hint and one by answer. Removing an operation keeps its own links, so
// the last one removed can be put back at once. Candidates are tried one at a time: there may be thousands, and the
// first is usually right.
import type { Operation } from './linearise.ts';

/** No operation. */
export const NONE = -1;

export class Pending {
  private readonly operations: readonly Operation<unknown>[];
  private readonly byHint: Chain;
  private readonly byAnswer: Chain;
  /** Of each one: when the first was called of it and of all that stand behind it by their hints. */
  private readonly firstCallFrom: number[] = [];
  private high = 0;
  private low = 0;

  /** `operations` are in the order of their calls. */
  constructor(operations: readonly Operation<unknown>[]) {
    const indexes = operations.map((_, index) => index);
    const answered = indexes.filter((index) => isAnswered(operations[index]!));
    answered.sort((a, b) => operations[a]!.answeredAt - operations[b]!.answeredAt);
    this.operations = operations;
    const hinted = indexes.sort((a, b) => operations[a]!.hint - operations[b]!.hint || a - b);
    this.byHint = new Chain(hinted);
    this.byAnswer = new Chain(answered);
    let firstCall = Number.POSITIVE_INFINITY;
    for (const index of hinted.toReversed()) {
      firstCall = Math.min(firstCall, operations[index]!.calledAt);
      this.firstCallFrom[index] = firstCall;
    }
  }

  take(index: number): void {
    this.byHint.remove(index);
    if (isAnswered(this.operations[index]!)) this.byAnswer.remove(index);
    this.mix(index);
  }

  /** Only the one that was taken last. */
  putBack(index: number): void {
    this.byHint.restore(index);
    if (isAnswered(this.operations[index]!)) this.byAnswer.restore(index);
    this.mix(index);
  }

  /** The likeliest that may come next, or the next likely one after `index`; NONE when there is no other. */
  candidate(index: number = NONE): number {
    const { operations, byHint, firstCallFrom } = this;
    const firstAnswered = this.byAnswer.first;
    const before = firstAnswered === NONE ? Number.POSITIVE_INFINITY : operations[firstAnswered]!.answeredAt;
    let next = byHint.after(index);
    while (next !== NONE && firstCallFrom[next]! <= before) {
      if (operations[next]!.calledAt <= before) return next;
      next = byHint.after(next);
    }
    return NONE;
  }

  /** Whether everything that has an answer has been taken. */
  get isAnsweredEmpty(): boolean {
    return this.byAnswer.first === NONE;
  }

  /** Differs for two different sets, but for one chance in 2^64. */
  get key(): string {
    return `${this.high.toString(36)}.${this.low.toString(36)}`;
  }

  /** Every operation turns its own bits, so the order in which they were taken leaves no trace. */
  private mix(index: number): void {
    this.high = (this.high ^ scramble(2 * index + 1)) >>> 0;
    this.low = (this.low ^ scramble(2 * index + 0x5bd1_e995)) >>> 0;
  }
}

function isAnswered({ answeredAt }: Operation<unknown>): boolean {
  return answeredAt !== Number.POSITIVE_INFINITY;
}

function scramble(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  mixed = Math.imul((mixed ^ (mixed >>> 16)) + 0x9e37_79b9, 0x27d4_eb2f);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** Indexes in a given order, of which any can leave and come back. */
class Chain {
  private readonly next = new Map<number, number>();
  private readonly previous = new Map<number, number>();

  constructor(indexes: readonly number[]) {
    const ends = [NONE, ...indexes, NONE];
    for (const [place, index] of indexes.entries()) {
      this.previous.set(index, ends[place]!);
      this.next.set(index, ends[place + 2]!);
    }
    this.next.set(NONE, ends[1]!);
    this.previous.set(NONE, ends.at(-2)!);
  }

  get first(): number {
    return this.next.get(NONE)!;
  }

  after(index: number): number {
    return this.next.get(index)!;
  }

  remove(index: number): void {
    const { next, previous } = this;
    next.set(previous.get(index)!, next.get(index)!);
    previous.set(next.get(index)!, previous.get(index)!);
  }

  restore(index: number): void {
    const { next, previous } = this;
    next.set(previous.get(index)!, index);
    previous.set(next.get(index)!, index);
  }
}
