/**
 * A transport that fails on demand. A lost reply behaves as over a network: an idempotent call is retried with the
 * same id, any other call throws with an unknown effect.
 */

import { recoverLostReply } from '../client/lost-replies.ts';
import { isSafeAgain, retryOf } from '../client/retries.ts';
import type { NoticeListener, Transport, TransportOptions } from '../client/transport.ts';
import type { Body, Operation, Requests } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem, Reply } from '../protocol/problem.ts';

interface Plan<Failure> {
  /** Null: the next call of any operation. */
  readonly operation: Operation | null;
  readonly failure: Failure;
}

export class FaultyTransport implements Transport {
  readonly log: Transport['log'];
  readonly follow: Transport['follow'];
  readonly close: Transport['close'];
  private readonly inner: Transport;
  private readonly newToken: () => string;
  private readonly lostReplies: Plan<LeaseholdError>[] = [];
  private readonly failures: Plan<LeaseholdError | Problem>[] = [];
  /** Holders of names and leases on tasks whose renewals, releases and verdicts are dropped. */
  private readonly unheard = new Set<string>();

  constructor(inner: Transport, newToken: () => string) {
    this.inner = inner;
    this.newToken = newToken;
    this.log = (request) => inner.log(request);
    this.follow = (fromSeq, signal, only) => inner.follow(fromSeq, signal, only);
    this.close = () => inner.close();
  }

  /** The next such call is executed, and its reply is lost. */
  dropReply(operation: Operation | null): void {
    const says = 'The reply was lost.';
    const failure = new LeaseholdError('UNREACHABLE', says, { retryable: true, effect: 'unknown' });
    this.lostReplies.push({ operation, failure });
  }

  /** The next such call fails without being executed: a fault is thrown, a refusal is returned. */
  failNext(operation: Operation | null, failure: LeaseholdError | Problem): void {
    this.failures.push({ operation, failure });
  }

  /**
   * As under `open`, but without notices of losses: a holder learns of a loss with its next renewal, so that a test can
   * observe it unaware.
   */
  listen(listener: NoticeListener): () => void {
    return this.inner.listen!((notice) => notice[0] !== 'lost' && listener(notice));
  }

  holds(name: string, leaseSeq: number): void {
    this.inner.holds!(name, leaseSeq);
  }

  /** Drops the renewals, releases and verdicts of this holder of a name or task lease, until the returned function is called. */
  cutOff(subject: string, holder?: string): () => void {
    const unheard = holder === undefined ? subject : ofHolder(subject, holder);
    this.unheard.add(unheard);
    return () => {
      this.unheard.delete(unheard);
    };
  }

  async call<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    options?: TransportOptions,
  ): Promise<Reply<Body<Op>>> {
    const failure = take(this.failures, operation);
    if (failure instanceof LeaseholdError) throw failure;
    if (failure !== null) return { ...failure };
    const arriving = this.arriving(operation, request);
    const lost = take(this.lostReplies, operation);
    if (lost === null) return this.inner.call(operation, arriving, options);
    return this.again(operation, arriving, options, lost);
  }

  /** Executes the call, loses its reply and retries it by the rules of the HTTP transport. */
  private async again<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    options: TransportOptions | undefined,
    fault: LeaseholdError,
  ): Promise<Reply<Body<Op>>> {
    const { fills, looks = false } = retryOf(operation) ?? {};
    const isMissing = fills !== undefined && !(fills in request);
    const known: Requests[Op] = isMissing ? { ...request, [fills]: this.newToken() } : request;
    await this.inner.call(operation, known, options);
    if (!isSafeAgain(operation, known)) throw fault;
    const reply = await this.inner.call(operation, known, options);
    if (!reply.ok && looks) {
      const ask: Transport['call'] = (...call) => this.inner.call(...call);
      return (await recoverLostReply(ask, operation, known, reply)) as Reply<Body<Op>>;
    }
    if (!isMissing || !reply.ok) return reply;
    // A live dedup key may have returned another task, which the caller must see.
    if (operation === 'task.create' && field(reply, 'task_id') !== field(known, 'task_id')) return reply;
    // The repeated answer is not a duplicate for the caller, which called once.
    const { duplicate: _, ...body } = reply as Body<Op> & { readonly duplicate?: true };
    return body as unknown as Body<Op>;
  }

  private arriving<Op extends Operation>(operation: Op, request: Requests[Op]): Requests[Op] {
    if (this.unheard.size === 0) return request;
    const { name, holder, lease_id, leases } = request as Partial<
      Requests['lease.renew'] & Requests['task.extend'] & Requests['worker.heartbeat']
    >;
    const isUnheard =
      (OF_NAMES.includes(operation) && this.unheard.has(ofHolder(name!, holder!))) ||
      (OF_TASKS.includes(operation) && this.unheard.has(lease_id!));
    if (isUnheard) throw new LeaseholdError('UNREACHABLE', 'The call did not arrive.', { retryable: true });
    if (operation !== 'worker.heartbeat' || leases === undefined) return request;
    return { ...request, leases: leases.filter((lease) => !this.unheard.has(lease.lease_id)) };
  }
}

/** The operations of holders that `cutOff` drops. */
const OF_NAMES: readonly Operation[] = ['lease.renew', 'lease.release'];
const OF_TASKS: readonly Operation[] = ['task.extend', 'task.complete', 'task.fail', 'task.release'];

/** The key of one holder of a name; another holder has another key. */
function ofHolder(name: string, holder: string): string {
  return JSON.stringify([name, holder]);
}

function field(of: object, name: string): unknown {
  return (of as Readonly<Record<string, unknown>>)[name];
}

/** The first plan for this operation, which is then used up. */
function take<Failure>(plans: Plan<Failure>[], operation: Operation): Failure | null {
  const index = plans.findIndex((plan) => plan.operation === null || plan.operation === operation);
  return index < 0 ? null : plans.splice(index, 1)[0]!.failure;
}
