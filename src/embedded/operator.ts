/** One step shared by every operation: check the request, call the authority, give the body or the problem. */
import type { Authority, CallOptions } from '../authority/authority.ts';
import type { Present } from '../authority/request.ts';
import type { Command } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { LogCompactedError } from '../engines/log.ts';
import type { Operation, ReadOperation, Reads, Requests } from '../protocol/requests.ts';
import { type Bodies, OPERATIONS } from './operations.ts';
import { type Problem, problem } from './problem.ts';
import { checkOf, invalid } from './validation.ts';

/** What every operation gives: its body with `ok: true`, or the problem with `ok: false`. */
export type Reply<T> = T | Problem;

/** The table without the types that tie its cells together; the signature of `run` keeps them. */
interface AnyRule {
  readonly needsToken?: true;
  readonly command: (request: unknown, token: string) => Command | Refusal;
  readonly present: Present;
}

export class Operator {
  readonly authority: Authority;
  private readonly newToken: () => string;

  constructor(authority: Authority, newToken: () => string) {
    this.authority = authority;
    this.newToken = newToken;
  }

  /** A read: checked like a change; what it finds out of date because a compaction moved bytes, it looks up again. */
  async read<Op extends ReadOperation, B>(
    operation: Op,
    request: Reads[Op],
    look: () => Promise<B | Refusal>,
  ): Promise<Reply<B>> {
    const refusal = invalid(operation, request);
    if (refusal !== null) return problem(refusal);
    let found: B | Refusal;
    try {
      found = await look();
    } catch (fault) {
      if (!(fault instanceof LogCompactedError)) throw fault;
      found = await look();
    }
    return isRefusal(found as object) ? problem(found as Refusal) : (found as B);
  }

  /** A change, ready to be called: rule and check are looked up once and not with every call. */
  prepare<Op extends Operation>(operation: Op): Run<Op> {
    const { authority, newToken } = this;
    const rule = OPERATIONS[operation] as unknown as AnyRule;
    const check = checkOf(operation);
    return (request, options) => {
      if (options?.signal !== undefined && !(options.signal instanceof AbortSignal)) {
        return Promise.reject(new TypeError('The option signal must be an AbortSignal.'));
      }
      if (!check.accepts(request)) return Promise.resolve(problem(invalid(operation, request)!));
      const token = (request as { token?: string }).token ?? (rule.needsToken ? newToken() : '');
      const command = rule.command(request, token);
      if (isRefusal(command)) return Promise.resolve(problem(command));
      return authority.submit(command, rule.present, token, options) as Promise<Reply<Bodies[Op]>>;
    };
  }
}

/** One operation of the table as a call. */
export type Run<Op extends Operation> = (
  request: Requests[Op],
  options?: CallOptions,
) => Promise<Reply<Bodies[Op]>>;
