/** One call to the authority, until its answer is sent. */
import type { Answer, GrantedTasks } from '../core/answers.ts';
import type { AcquireNames, Command, LeaseTasks } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Ticket, Waiter } from '../core/lines.ts';
import type { Machine } from '../core/machine.ts';
import type { Refusal } from '../core/refusals.ts';

export interface CallOptions {
  /** Ends a wait; a grant that comes too late is released. */
  readonly signal?: AbortSignal;
  readonly requestId?: string;
  /** The authenticated caller, if a server knows it; only `whoami.get` uses it. */
  readonly caller?: { readonly name: string; readonly granted: readonly string[] };
  /** Checked just before the answer is sent: a grant that cannot be delivered is released. */
  readonly isGone?: () => boolean;
  /** False for a caller without the scope `v1:admin`. In process every caller has it. */
  readonly isAdmin?: boolean;
  readonly room?: Room;
}

/** Limits the bytes that are read from the log for answers. */
export interface Room {
  /** A promise to wait for before reading; null when the bytes may be read at once. */
  for(bytes: number): Promise<void> | null;
}

export type Read = (machine: Machine) => unknown;

/** How the operation behind a command is treated, as its definition says. */
export interface Handling {
  /** It keeps or ends ownership: it is decided before creates when the authority is behind. */
  readonly isUrgent: boolean;
  /** It is refused while the disk is full. */
  readonly needsSpace: boolean;
}

/** For reads, and for commands that no operation sends. */
export const PLAIN: Handling = { isUrgent: false, needsSpace: false };
/** For releases by the authority itself. */
export const URGENT: Handling = { ...PLAIN, isUrgent: true };

type Resolve = (answer: unknown) => void;
type Reject = (fault: unknown) => void;

// One executor for all promises: a closure per promise would allocate as much as the promise itself.
let resolveOfNext: Resolve;
let rejectOfNext: Reject;
const capture = (resolve: Resolve, reject: Reject): void => {
  resolveOfNext = resolve;
  rejectOfNext = reject;
};

/** Receives answers of requests without a promise: a batch, by place, or a live connection. */
export interface Sink {
  /** How many bytes of leased tasks its answer may still take: they are all in memory at once. */
  room: number;
  /** Whether one of its calls is in the ordinary line: later calls join that line too, so that their order is kept. */
  hasOrdinary: boolean;
  /** Receives the request before it is queued; for sinks whose calls can be ended while they wait. */
  began?(request: Request): void;
  settle(place: number, answer: Answer | Refusal): void;
  fail(place: number, fault: unknown): void;
}

/** An upper estimate of what a lease takes in an answer besides its payload. */
const LEASE_BYTES = 1024;

export class Request implements Ticket {
  readonly command: Command | null;
  readonly read: Read | null;
  readonly requestId: string | null;
  /** The promise of the answer; null when the answer goes to a sink. */
  readonly done: Promise<unknown> | null = null;
  open = true;
  isGone: (() => boolean) | null = null;
  waiter: Waiter<AcquireNames> | Waiter<LeaseTasks> | null = null;
  answer: unknown = null;
  /** Its number in order of arrival. */
  arrival = 0;
  /** The memory counted for it while it waits; 0 when it does not wait. */
  keptBytes = 0;
  /** Called once when the answer is sent, whatever it is. */
  onSent: (() => void) | null = null;
  readonly handling: Handling;
  private readonly resolveDone: Resolve | null = null;
  private readonly rejectDone: Reject | null = null;
  readonly sink: Sink | null;
  private readonly place: number;

  constructor(
    command: Command | null,
    read: Read | null,
    requestId: string | null,
    handling: Handling,
    sink: Sink | null = null,
    place = 0,
  ) {
    this.command = command;
    this.read = read;
    this.requestId = requestId;
    this.handling = handling;
    this.sink = sink;
    this.place = place;
    if (sink !== null) return;
    this.done = new Promise(capture);
    this.resolveDone = resolveOfNext;
    this.rejectDone = rejectOfNext;
  }

  resolve(answer: unknown): void {
    if (this.sink === null) this.resolveDone!(answer);
    else this.sink.settle(this.place, answer as Answer | Refusal);
  }

  reject(fault: unknown): void {
    if (this.sink === null) this.rejectDone!(fault);
    else this.sink.fail(this.place, fault);
  }

  settle(answer: Answer | Refusal): void {
    this.answer = answer;
    this.waiter = null;
    if (this.command?.type === 'LeaseTasks' && !isRefusal(answer)) this.takeRoom(answer as GrantedTasks);
  }

  /** Whether the batch answer still has room for leased tasks. */
  get hasRoom(): boolean {
    return this.command?.type !== 'LeaseTasks' || this.sink === null || this.sink.room > 0;
  }

  private takeRoom({ leases }: GrantedTasks): void {
    if (this.sink === null) return;
    for (const { payload } of leases) this.sink.room -= LEASE_BYTES + payload.length;
  }

  /** Whether the answer can still be delivered. */
  get isAwaited(): boolean {
    return this.open && this.isGone?.() !== true;
  }

  send(answer: unknown): void {
    this.onSent?.();
    this.resolve(answer);
  }

  waits(waiter: Waiter<AcquireNames> | Waiter<LeaseTasks>): void {
    this.waiter = waiter;
  }
}
