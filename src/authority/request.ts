/** One call to the authority, from the moment it is made until its answer leaves. */
import type { Answer, GrantedTasks } from '../core/answers.ts';
import type { AcquireNames, Command, LeaseTasks } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Ticket, Waiter } from '../core/lines.ts';
import type { Machine } from '../core/machine.ts';
import type { Refusal } from '../core/refusals.ts';

export interface CallOptions {
  /** Ends a wait; a grant that comes too late is given back. */
  readonly signal?: AbortSignal;
  readonly requestId?: string;
  /** Who asks, where a server knows; only `whoami.get` wants to. */
  readonly caller?: { readonly name: string; readonly granted: readonly string[] };
  /** Asked as the answer is about to leave: a grant that cannot be delivered is given back. */
  readonly isGone?: () => boolean;
  /** False for a caller without the scope `v1:admin`. In process every caller has it. */
  readonly isAdmin?: boolean;
  readonly room?: Room;
}

/** Asked before bytes are read from the log for an answer. */
export interface Room {
  /** A promise when so many have to wait; null when they may be read at once. */
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

/** For reads, and for commands that are no operation. */
export const PLAIN: Handling = { isUrgent: false, needsSpace: false };
/** For what the authority itself gives back. */
export const URGENT: Handling = { ...PLAIN, isUrgent: true };

type Resolve = (answer: unknown) => void;
type Reject = (fault: unknown) => void;

// One executor for all promises: a closure for each would be garbage as large as the promise itself.
let resolveOfNext: Resolve;
let rejectOfNext: Reject;
const capture = (resolve: Resolve, reject: Reject): void => {
  resolveOfNext = resolve;
  rejectOfNext = reject;
};

/** Where answers go that have no promise of their own: to their place in a batch, or to a live connection. */
export interface Sink {
  /** How many bytes of leased tasks its answer may still take: each is looked at and written in one go, all in memory. */
  room: number;
  /** Whether one of its calls stands in the ordinary line: those behind it stand there too, so that order is kept. */
  hasOrdinary: boolean;
  /** Given the request before it stands in line, by a sink whose calls can be ended while they wait. */
  began?(request: Request): void;
  settle(place: number, answer: Answer | Refusal): void;
  fail(place: number, fault: unknown): void;
}

/** What a lease takes in an answer besides its payload; rather too much than too little. */
const LEASE_BYTES = 1024;

export class Request implements Ticket {
  readonly command: Command | null;
  readonly read: Read | null;
  readonly requestId: string | null;
  /** What the caller waits for; null when the answer goes to a sink. */
  readonly done: Promise<unknown> | null = null;
  open = true;
  isGone: (() => boolean) | null = null;
  waiter: Waiter<AcquireNames> | Waiter<LeaseTasks> | null = null;
  answer: unknown = null;
  /** Its place among all that came. */
  arrival = 0;
  /** What it takes up in a line; 0 for who has not had to wait. */
  keptBytes = 0;
  /** Called once when the answer leaves, whatever it is. */
  whenLeft: (() => void) | null = null;
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

  /** Whether its answer may stand beside those before it in the same batch. */
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

  /** Lets the answer go. */
  leave(answer: unknown): void {
    this.whenLeft?.();
    this.resolve(answer);
  }

  waits(waiter: Waiter<AcquireNames> | Waiter<LeaseTasks>): void {
    this.waiter = waiter;
  }
}
