/**
 * Reads whose answers may be long, such as lists and histories. Each costs many times what it took to ask for it, so
 * a few are made at a time, others get a turn in between, and none is made while too much lies unsent: a client could
 * otherwise ask a thousand times in one packet, read nothing, and have it all in our memory.
 */
import type { Timers } from '../authority/seams.ts';
import type { Operation } from '../protocol/routes.ts';
import type { Exchange } from './exchange.ts';

/** More would be made in one turn of the loop where nothing has to be read from a disk. */
const AT_A_TIME = 2;
const UNSENT_BYTES_MAX = 256 * 1024 * 1024;

/** What goes through the log; a line of its own, because lists are not to wait for it. */
const HISTORIES: ReadonlySet<Operation> = new Set<Operation>(['task.history', 'lease.history']);
const LISTS: ReadonlySet<Operation> = new Set<Operation>([
  'task.list',
  'lease.list',
  'queue.list',
  'worker.list',
  'session.list',
  'receipt.list',
]);
/** A single one is not long, but a few hundred of them are. */
const SHORT: ReadonlySet<Operation> = new Set<Operation>(['task.get', 'lease.get', 'object.get']);

interface Line {
  busy: number;
  readonly waiting: (() => void)[];
}

export class LongReads {
  /** Of long answers, what has not been taken by those who asked. */
  private unsentBytes = 0;
  private readonly timers: Pick<Timers, 'soon'>;
  private readonly unsentMax: number;
  private readonly lists: Line = { busy: 0, waiting: [] };
  private readonly histories: Line = { busy: 0, waiting: [] };

  constructor(timers: Pick<Timers, 'soon'>, unsentMax = UNSENT_BYTES_MAX) {
    this.timers = timers;
    this.unsentMax = unsentMax;
  }

  static isHistory(operation: Operation): boolean {
    return HISTORIES.has(operation);
  }

  /** Whether it has to be made in turn. */
  static isLong(operation: Operation): boolean {
    return HISTORIES.has(operation) || LISTS.has(operation);
  }

  /** Whether it may not be made now, because its answer would come on top of too many others. */
  refuses(operation: Operation): boolean {
    return this.unsentBytes >= this.unsentMax && (SHORT.has(operation) || LongReads.isLong(operation));
  }

  /** Makes it when its turn has come, if there still is somebody to hear the answer. */
  async inTurn(operation: Operation, exchange: Exchange, answered: () => Promise<void>): Promise<void> {
    const line = HISTORIES.has(operation) ? this.histories : this.lists;
    if (line.busy < AT_A_TIME) line.busy += 1;
    else await new Promise<void>((go) => line.waiting.push(go));
    try {
      if (exchange.isGone()) return;
      if (this.refuses(operation)) exchange.refuse({ refused: 'OVERLOADED' });
      else await answered();
    } finally {
      this.timers.soon(() => {
        const next = line.waiting.shift();
        if (next === undefined) line.busy -= 1;
        else next();
      });
    }
  }

  /** A long answer is on its way. */
  sending({ response }: Pick<Exchange, 'response'>, bytes: number): void {
    this.unsentBytes += bytes;
    response.once('close', () => {
      this.unsentBytes -= bytes;
    });
  }
}
