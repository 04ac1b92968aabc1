/**
 * Every operation of the table on a live connection, by name. Requests arrive checked. Changes go to the authority like
 * those of a batch; reads take turns with all other reads of the server.
 */
import type { Authority } from '../authority/authority.ts';
import type { Holders } from '../authority/holders.ts';
import type { Standby } from '../authority/standby.ts';
import type { Answer, Extension } from '../core/answers.ts';
import type { Refusal } from '../core/refusals.ts';
import type { OpenCore } from '../open.ts';
import type { CheckedCall, CheckedCalls, Send } from '../operations/calls.ts';
import { CHECKS } from '../operations/checks.ts';
import { isPast } from '../operations/past-fields.ts';
import type { RequestCheck } from '../operations/schema-check.ts';
import {
  type AnyOperation,
  type ChangeOperation,
  OPERATION_NAMES,
  operationOf,
} from '../operations/table.ts';
import type { Reply } from '../protocol/problem.ts';
import { isOpaqueField } from '../protocol/read-json.ts';
import type { LiveCall } from './live-call.ts';
import { GoneError } from './long-polls.ts';
import { LongReads } from './long-reads.ts';
import { isGivenBack } from './operation-handler.ts';

/** How one operation runs on a live connection. */
export interface LiveKind {
  readonly definition: AnyOperation;
  readonly check: RequestCheck;
  /** Its request has opaque values, sent as strings that hold JSON. */
  readonly hasOpaque: boolean;
  readonly isGivenBack: boolean;
  run(call: LiveCall): void;
  /** Ends the wait of a call, which then fails with the reason. */
  end(call: LiveCall, reason: Error): void;
  /** Called after the reply was queued: from then on the connection is notified when the granted lease ends. */
  note(call: LiveCall, answer: Answer): void;
  /** The body for an answer of the authority. */
  reply(call: LiveCall, answer: Answer): Reply<object>;
}

/** What answers live connections while the server has one role. */
export interface LiveService {
  readonly kinds: ReadonlyMap<unknown, LiveKind>;
  /** Null on a standby, which grants nothing. */
  readonly holders: Holders | null;
  /** The authority's time and epoch; null where another server is the authority. */
  now(): { readonly atMs: number; readonly epoch: number } | null;
}

abstract class Kind implements LiveKind {
  readonly definition: AnyOperation;
  readonly check: RequestCheck;
  readonly hasOpaque: boolean;
  readonly isGivenBack: boolean;

  constructor(definition: AnyOperation) {
    this.definition = definition;
    this.check = CHECKS[definition.name];
    this.hasOpaque = Object.keys(definition.request.properties).some(
      (field) => isOpaqueField(field) || field === 'writes',
    );
    this.isGivenBack = isGivenBack(definition);
  }

  abstract run(call: LiveCall): void;

  end({ ending }: LiveCall, reason: Error): void {
    ending?.abort(reason);
  }

  note(_call: LiveCall, _answer: Answer): void {}

  reply(_call: LiveCall, _answer: Answer): Reply<object> {
    throw new Error(`${this.definition.name} is not decided by the authority.`);
  }
}

class ChangeKind extends Kind {
  private readonly authority: Authority;
  private readonly send: Send;

  constructor(definition: AnyOperation, authority: Authority, send: Send) {
    super(definition);
    this.authority = authority;
    this.send = send;
  }

  run(call: LiveCall): void {
    const { send } = this;
    if (send.prepare === null) {
      call.shown = send.submit(call, 0, call.request, call.options);
      return;
    }
    send.prepare(call.request).then(
      (prepared) => {
        call.shown = send.submit(call, 0, call.request, call.options, prepared);
      },
      (fault: unknown) => call.fail(0, fault),
    );
  }

  override end({ queued }: LiveCall, reason: Error): void {
    if (queued !== null) this.authority.abandon(queued, reason);
  }

  override reply({ shown }: LiveCall, answer: Answer): Reply<object> {
    return this.send.reply(answer, shown);
  }
}

/** An operation whose reply tells its caller that it holds a lease. */
class HoldingKind extends ChangeKind {
  override note({ connection }: LiveCall, answer: Answer): void {
    if ('extended' in answer) for (const { leaseSeq } of answer.extended) connection.holdTask(leaseSeq);
    else if (!('leases' in answer)) connection.holdTask((answer as Extension).leaseSeq);
    else {
      for (const lease of answer.leases) {
        if ('name' in lease) connection.holdName(lease.name, lease.leaseSeq);
        else connection.holdTask(lease.leaseSeq);
      }
    }
  }
}

/** The operations that grant, renew or extend leases. */
const HOLDING: ReadonlySet<string> = new Set<ChangeOperation>([
  'lease.acquire',
  'lease.acquire_all',
  'lease.renew',
  'task.lease',
  'task.extend',
  'worker.heartbeat',
]);

class ReadKind extends Kind {
  private readonly call: CheckedCall;
  private readonly longReads: LongReads;
  private readonly long: ReturnType<typeof LongReads.kindOf>;
  private readonly isRecord: boolean;

  constructor(definition: AnyOperation, call: CheckedCall, longReads: LongReads) {
    super(definition);
    this.call = call;
    this.longReads = longReads;
    this.long = LongReads.kindOf(definition.name);
    this.isRecord = LongReads.isRecord(definition.name);
  }

  run(call: LiveCall): void {
    // A wait begins at once; the read at its end waits for room.
    if (call.isWait) void this.read(call);
    else call.connection.whenRead(() => this.read(call));
  }

  private async read(call: LiveCall): Promise<void> {
    const { connection } = call;
    try {
      const long = isPast(call.request) ? 'past' : this.long;
      if (long === null) await this.look(call);
      else {
        await this.longReads.inTurn(long, async () => {
          if (connection.isGone()) throw new GoneError('The connection was closed.');
          await this.look(call);
        });
      }
    } catch (fault) {
      connection.fail(call, fault);
    }
  }

  private async look(call: LiveCall): Promise<void> {
    const { connection, request, options } = call;
    const room = this.isRecord ? this.longReads.largeRead(connection.isGone) : null;
    if (call.isWait || this.long === 'history' || isPast(request)) call.ending = connection.ending();
    const reading = {
      ...options,
      ...(room === null ? {} : { room }),
      ...(call.ending === null ? {} : { signal: call.ending.signal }),
    };
    try {
      connection.reply(call, await this.call(request, reading));
    } finally {
      room?.end();
      if (call.ending !== null) connection.ended(call.ending);
    }
  }
}

/** An operation that this server refuses, because only the leader answers it. */
class RefusedKind extends Kind {
  private readonly refusal: () => Refusal;

  constructor(definition: AnyOperation, refusal: () => Refusal) {
    super(definition);
    this.refusal = refusal;
  }

  run(call: LiveCall): void {
    call.settle(0, this.refusal());
  }
}

export function leaderLive({ authority, calls, sends }: OpenCore, longReads: LongReads): LiveService {
  return {
    kinds: kindsBy((definition) =>
      'command' in definition
        ? new (HOLDING.has(definition.name) ? HoldingKind : ChangeKind)(
            definition,
            authority,
            sends[definition.name as ChangeOperation],
          )
        : new ReadKind(definition, calls[definition.name], longReads),
    ),
    holders: authority.soft.holders,
    now: () => ({ atMs: authority.clock.nowMs(), epoch: authority.log.epoch }),
  };
}

/** A standby answers only for itself and otherwise names the leader. */
export function standbyLive(
  standby: Pick<Standby, 'refusal'>,
  calls: Partial<CheckedCalls>,
  longReads: LongReads,
): LiveService {
  return {
    kinds: kindsBy((definition) => {
      const { name } = definition;
      return name === 'status.get' || name === 'whoami.get'
        ? new ReadKind(definition, calls[name]!, longReads)
        : new RefusedKind(definition, () => standby.refusal);
    }),
    holders: null,
    now: () => null,
  };
}

function kindsBy(kindOf: (definition: AnyOperation) => LiveKind): ReadonlyMap<unknown, LiveKind> {
  return new Map(OPERATION_NAMES.map((name) => [name, kindOf(operationOf(name))]));
}
