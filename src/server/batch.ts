/**
 * `POST /v1/batch`: several operations in one request, in order, each judged on its own. The results leave
 * together once the last of them is durable.
 */
import type { CallOptions, Sink } from '../authority/request.ts';
import type { Answer } from '../core/answers.ts';
import { invalid, isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Send, Sends } from '../operations/calls.ts';
import { BATCH_CHECKS } from '../operations/checks.ts';
import type { RequestCheck } from '../operations/schema-check.ts';
import { type AnyChange, type BatchOperation, CHANGES, isOperation } from '../operations/table.ts';
import { LIMITS } from '../protocol/limits.ts';
import { problem } from '../protocol/problem.ts';
import { bodyText, withoutOk } from './body-text.ts';
import type { Exchange } from './exchange.ts';
import {
  type Arrival,
  forbiddenTo,
  grantOptions,
  HALF_CLOSED,
  type Handle,
  isGivenBack,
  isProblem,
  isUnavailable,
  noOperation,
  type ReportFault,
  refuseFault,
  statusOf,
} from './operation-handler.ts';
import { problemBody } from './problem-text.ts';
import { type Fields, readBatch } from './request-bytes.ts';
import { refuseScope } from './scopes.ts';

/** Everything needed to run one operation, looked up by its name. */
interface Kind {
  readonly change: AnyChange;
  readonly isGivenBack: boolean;
  readonly check: RequestCheck;
  readonly send: Send;
}

/** How many operations of a batch are prepared together. What they read stays in memory until they are decided. */
const PREPARED_TOGETHER = 64;

/** How many bytes of leased tasks one answer may have. Leases beyond it are refused and can be requested again. */
const LEASED_BYTES_MAX = 16 * 1024 * 1024;

export function batchHandler(sends: Sends, reportFault: ReportFault): Handle {
  const kinds = new Map<unknown, Kind>();
  for (const change of CHANGES) {
    if (!change.batch) continue;
    const name = change.name as BatchOperation;
    const [check, send] = [BATCH_CHECKS[name], sends[name]];
    kinds.set(name, { change, isGivenBack: isGivenBack(change), check, send });
  }
  return (exchange, arrival) => {
    const ops = opsOf(arrival);
    if (isRefusal(ops)) exchange.refuse(ops);
    else new Batch(ops as unknown[], exchange, reportFault).run(kinds);
  };
}

function opsOf({ body, query }: Arrival): unknown[] | Refusal {
  const fields = readBatch(body);
  if (isRefusal(fields)) return fields;
  const { ops, ...rest } = fields as Fields;
  const [unknown] = [...Object.keys(rest), ...Object.keys(query)];
  if (unknown !== undefined) return invalid(`The field ${unknown} is unknown.`);
  if (!Array.isArray(ops)) return invalid('The field ops must be a list of operations.');
  if (ops.length <= LIMITS.batchOps) return ops;
  return invalid(`The batch has ${ops.length} operations; ${LIMITS.batchOps} are allowed.`);
}

function unknownOperation(op: unknown): Refusal {
  if (typeof op !== 'object' || op === null) return invalid('An operation must be an object.');
  const { op: operation } = op as Fields;
  if (typeof operation !== 'string') return invalid('The field op must name an operation.');
  if (!isOperation(operation)) return noOperation(operation);
  return invalid(`The operation ${operation} may not stand in a batch.`);
}

class Batch implements Sink {
  room = LEASED_BYTES_MAX;
  hasOrdinary = false;
  private readonly ops: readonly unknown[];
  private readonly exchange: Exchange;
  private readonly reportFault: ReportFault;
  /** Null for operations that were refused at once. */
  private readonly kinds: (Kind | null)[];
  private readonly answers: (Answer | Refusal | null)[];
  private readonly options: CallOptions[] = [];
  /** What each reply shows besides its answer. */
  private readonly shown: string[];
  private missing: number;
  /** A fault was reported. One report a batch: a fault usually fails several of its operations. */
  private hasReported = false;

  constructor(ops: readonly unknown[], exchange: Exchange, reportFault: ReportFault) {
    this.ops = ops;
    this.exchange = exchange;
    this.reportFault = reportFault;
    this.kinds = new Array<Kind | null>(ops.length).fill(null);
    this.answers = new Array<Answer | Refusal | null>(ops.length).fill(null);
    this.shown = new Array<string>(ops.length).fill('');
    this.missing = ops.length;
  }

  run(kinds: ReadonlyMap<unknown, Kind>): void {
    const { ops, exchange } = this;
    if (ops.length === 0) return this.finish();
    const options: CallOptions = { requestId: exchange.requestId };
    const forGrants = grantOptions(exchange);
    for (let place = 0; place < ops.length; place++) {
      const op = ops[place];
      const kind = kinds.get((op as Fields | null)?.op);
      const refusal = kind === undefined ? unknownOperation(op) : this.refusalOf(op as Fields, kind);
      if (refusal !== null) this.settle(place, refusal);
      else {
        this.kinds[place] = kind!;
        this.options[place] = kind!.change.grants ? forGrants : options;
      }
    }
    this.submitFrom(0);
  }

  /** Submits in order. Operations that need preparing are prepared in groups, once everything before them is submitted. */
  private submitFrom(first: number): void {
    for (let place = first; place < this.ops.length; place++) {
      const kind = this.kinds[place] ?? null;
      if (kind === null) continue;
      if (kind.send.prepare !== null) {
        this.prepareFrom(place).catch((fault) => refuseFault(fault, this.exchange, this.reportFault));
        return;
      }
      this.submit(place, kind);
    }
  }

  private async prepareFrom(first: number): Promise<void> {
    let end = first;
    const prepared: Promise<unknown>[] = [];
    for (; end < this.ops.length && prepared.length < PREPARED_TOGETHER; end++) {
      const kind = this.kinds[end] ?? null;
      if (kind === null) continue;
      if (kind.send.prepare === null) break;
      prepared.push(kind.send.prepare(this.ops[end]));
    }
    const settled = await Promise.allSettled(prepared);
    for (let place = first, at = 0; place < end; place++) {
      const kind = this.kinds[place] ?? null;
      if (kind === null) continue;
      const result = settled[at++]!;
      if (result.status === 'fulfilled') this.submit(place, kind, result.value);
      else this.fail(place, result.reason);
    }
    this.submitFrom(end);
  }

  private submit(place: number, kind: Kind, prepared?: unknown): void {
    this.shown[place] = kind.send.submit(this, place, this.ops[place], this.options[place]!, prepared);
  }

  private refusalOf(op: Fields, { change, check }: Kind): Refusal | null {
    if (op.wait_ms !== undefined) return invalid('No operation may wait inside a batch.');
    if (!check.accepts(op)) return invalid(check.explain(op));
    const { caller } = this.exchange;
    return refuseScope(caller, change.scope) ?? forbiddenTo(caller, change, op);
  }

  /** Checks, as the authority just did, that a grant can be delivered: a grant that was given back must not be reported. */
  settle(place: number, answer: Answer | Refusal): void {
    const isUndeliverable = this.kinds[place]?.isGivenBack === true && this.exchange.isLeaving();
    this.answers[place] = isUndeliverable && !isRefusal(answer) ? HALF_CLOSED : answer;
    this.missing -= 1;
    if (this.missing === 0) this.finish();
  }

  /** The authority died under the batch, or a payload could not be read: the others keep their answers. */
  fail(place: number, fault: unknown): void {
    if (isUnavailable(fault)) {
      this.settle(place, { refused: 'UNAVAILABLE', detail: fault.message });
      return;
    }
    if (!this.hasReported) this.reportFault(fault, this.exchange);
    this.hasReported = true;
    this.settle(place, { refused: 'INTERNAL' });
  }

  /** Called from inside the authority, so it must not throw if the answer exceeds the maximum string length. */
  private finish(): void {
    try {
      const results = this.answers.map((answer, place) => this.resultOf(place, answer!));
      this.exchange.json(200, bodyText({ results }));
    } catch (fault) {
      refuseFault(fault, this.exchange, this.reportFault);
    }
  }

  private resultOf(place: number, answer: Answer | Refusal): object {
    const kind = this.kinds[place]!;
    const reply = isRefusal(answer) ? problem(answer) : kind.send.reply(answer, this.shown[place]!);
    if (!isProblem(reply)) return { status: statusOf(kind.change, reply), body: withoutOk(reply) };
    const body = problemBody(reply, `/v1/batch#${place}`, this.exchange.requestId);
    return { status: reply.status, body };
  }
}
