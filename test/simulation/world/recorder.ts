/** Writes the history of a run down, and its hash. Nothing in here decides anything. */
import { createHash } from 'node:crypto';
import type { Operation } from '../../../src/operations/table.ts';
import type { Clock } from '../../../src/seams/clock.ts';
import type {
  AnswerEvent,
  CallEvent,
  ClientInstant,
  History,
  HistoryEvent,
  Layer,
  UnansweredEvent,
  UsedEvent,
} from '../history.ts';
import type { Json } from '../plan.ts';
import type { Kernel } from './kernel.ts';

/** An event without its time. */
type Untimed<E> = E extends HistoryEvent ? Omit<E, 'simMs'> : never;

export class Recorder {
  readonly events: HistoryEvent[] = [];
  /** Acknowledged changes may be gone, because the disk lied or a backup was restored. */
  isLossy = false;
  /** What the clock of the authority says, while there is one. */
  authorityNow: () => UsedEvent['authority'] = () => null;
  readonly #kernel: Kernel;
  #calls = 0;
  #batches = 0;
  #handles = 0;
  #faults = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  note(event: Untimed<HistoryEvent>): void {
    if (event.kind === 'fault') {
      this.#faults += 1;
      this.isLossy ||= event.allows.some(({ may }) => may === 'lose' || may === 'restore');
    }
    const simMs = Math.round(this.#kernel.nowMs * 1000) / 1000;
    this.events.push({ ...event, simMs } as HistoryEvent);
  }

  call(
    layer: Layer,
    client: string,
    op: Operation,
    request: Record<string, Json>,
    batch: number,
    more: Pick<CallEvent, 'isEcho' | 'isLive'> = {},
  ): number {
    const id = ++this.#calls;
    this.note({ kind: 'call', id, layer, client, op, request, batch, ...more });
    return id;
  }

  answer(id: number, status: number, body: AnswerEvent['body']): void {
    this.note({ kind: 'answer', id, status, body });
  }

  unanswered(id: number, effect: UnansweredEvent['effect'], why: string): void {
    this.note({ kind: 'unanswered', id, effect, why });
  }

  broken(who: string, says: string): void {
    this.note({ kind: 'broken', who, says });
  }

  newBatch(): number {
    return ++this.#batches;
  }

  newHandle(): number {
    return ++this.#handles;
  }

  history(): History {
    const hash = createHash('sha256');
    for (const event of this.events) hash.update(JSON.stringify(event)).update('\n');
    return {
      events: this.events,
      hash: hash.digest('hex'),
      counts: {
        steps: this.#kernel.steps,
        calls: this.#calls,
        faults: this.#faults,
        simMs: Math.round(this.#kernel.nowMs),
      },
    };
  }
}

/** What both clocks of a node say. */
export function instantOf(clock: Clock): ClientInstant {
  return { monotonicMs: Math.round(clock.monotonicMs() * 1000) / 1000, wallMs: clock.wallMs() };
}
