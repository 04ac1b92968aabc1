/** One operation on a live connection, from its arrival to its answer: the sink to which the authority sends the answer. */
import type { CallOptions, Request, Sink } from '../authority/request.ts';
import type { Answer } from '../core/answers.ts';
import type { Refusal } from '../core/refusals.ts';
import type { LiveConnection } from './live-connection.ts';
import type { LiveKind } from './live-operations.ts';
import type { Fields } from './request-bytes.ts';

/** The client has ended its wait; nothing was granted. */
export class EndedWaitError extends Error {
  override readonly name = 'EndedWaitError';
}

export class LiveCall implements Sink {
  readonly connection: LiveConnection;
  readonly id: number;
  readonly kind: LiveKind;
  readonly request: Fields;
  readonly options: CallOptions;
  readonly isWait: boolean;
  /** What the reply shows besides the answer. */
  shown = '';
  /** The request in the authority's waiting line; for a read, `ending` aborts it instead. */
  queued: Request | null = null;
  ending: AbortController | null = null;
  /** It was answered. An authority that dies may fail a call again after its answer; that is ignored. */
  isSettled = false;

  constructor(
    connection: LiveConnection,
    id: number,
    kind: LiveKind,
    request: Fields,
    options: CallOptions,
    isWait: boolean,
  ) {
    this.connection = connection;
    this.id = id;
    this.kind = kind;
    this.request = request;
    this.options = options;
    this.isWait = isWait;
  }

  get room(): number {
    return this.connection.room;
  }

  set room(bytes: number) {
    this.connection.room = bytes;
  }

  /** Operations of one connection may be decided in any order. */
  get hasOrdinary(): boolean {
    return false;
  }

  set hasOrdinary(_: boolean) {}

  began(request: Request): void {
    this.queued = request;
  }

  settle(_place: number, answer: Answer | Refusal): void {
    this.connection.settle(this, answer);
  }

  fail(_place: number, fault: unknown): void {
    this.connection.fail(this, fault);
  }
}
