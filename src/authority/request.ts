/** One call to the authority, from the moment it is made until its answer leaves. */
import type { AcquireNames, Answer, Command, LeaseTasks } from '../core/commands.ts';
import type { Ticket, Waiter } from '../core/lines.ts';
import type { Machine } from '../core/machine.ts';
import type { Refusal } from '../core/refusals.ts';

export type Read = (machine: Machine) => unknown;

/** Makes of an answer what the caller gets to see; runs once, as the answer leaves. */
export type Present = (answer: Answer | Refusal, context: string) => unknown;

export class Request implements Ticket {
  readonly command: Command | null;
  readonly read: Read | null;
  readonly requestId: string | null;
  readonly bytes: number;
  readonly present: Present | null;
  /** Handed to `present`. */
  readonly context: string;
  open = true;
  waiter: Waiter<AcquireNames> | Waiter<LeaseTasks> | null = null;
  answer: unknown = null;
  /** Called once when the answer leaves, whatever it is. */
  whenLeft: (() => void) | null = null;
  private readonly settled: Request[];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (fault: unknown) => void;

  constructor(
    command: Command | null,
    read: Read | null,
    requestId: string | null,
    bytes: number,
    present: Present | null,
    context: string,
    settled: Request[],
    resolve: (answer: unknown) => void,
    reject: (fault: unknown) => void,
  ) {
    this.command = command;
    this.read = read;
    this.requestId = requestId;
    this.bytes = bytes;
    this.present = present;
    this.context = context;
    this.settled = settled;
    this.resolve = resolve;
    this.reject = reject;
  }

  /** The answer is known; it leaves once the batch it was decided in is durable. */
  settle(answer: Answer | Refusal): void {
    this.answer = answer;
    this.waiter = null;
    this.settled.push(this);
  }

  /** Lets the answer go. */
  leave(answer: unknown): void {
    this.whenLeft?.();
    this.resolve(this.present === null ? answer : this.present(answer as Answer | Refusal, this.context));
  }

  waits(waiter: Waiter<AcquireNames> | Waiter<LeaseTasks>): void {
    this.waiter = waiter;
  }
}
