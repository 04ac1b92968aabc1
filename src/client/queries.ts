/** Calls for the handle: refusals are thrown, bodies are in camelCase. */

import type { RefusalCode } from '../core/refusals.ts';
import type { Body, Operation, Replies, Requests } from '../operations/table.ts';
import { type CamelCase, camelCased } from '../protocol/camel-case.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Reply } from '../protocol/problem.ts';
import { type Listing, listing, type PageOptions } from './listing.ts';
import type { CallOptions, Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';

export type Answer<Op extends Operation> = CamelCase<Replies[Op]>;

export async function ask<Op extends Operation>(
  transport: Transport,
  operation: Op,
  request: Requests[Op],
  options?: CallOptions,
): Promise<Answer<Op>> {
  const reply = await transport.call(operation, request, options);
  if (!reply.ok) throw LeaseholdError.of(reply);
  return bodyOf<Op>(reply);
}

/** Like `ask`, but returns null for the given refusal. */
export async function askFor<Op extends Operation>(
  transport: Transport,
  operation: Op,
  request: Requests[Op],
  nothing: RefusalCode,
): Promise<Answer<Op> | null> {
  const reply: Reply<Body<Op>> = await transport.call(operation, request);
  if (reply.ok) return bodyOf<Op>(reply);
  if (reply.code === nothing) return null;
  throw LeaseholdError.of(reply);
}

function bodyOf<Op extends Operation>({ ok: _, ...body }: { readonly ok: true }): Answer<Op> {
  return camelCased(body) as Answer<Op>;
}

const PAGE_OPTIONS = ['limit', 'cursor'];

/** A listing over a paginated operation. `itemsOf` extracts the items of an answer. */
export function pages<Op extends Operation, Item>(
  transport: Transport,
  operation: Op,
  request: Omit<Requests[Op], keyof PageOptions>,
  { limit, cursor: first }: PageOptions,
  itemsOf: (answer: Answer<Op>) => readonly Item[],
): Listing<Item> {
  return listing(first, async (cursor) => {
    const answer = await ask(transport, operation, {
      ...request,
      ...(limit === undefined ? {} : { limit }),
      ...(cursor === undefined ? {} : { cursor }),
    } as Requests[Op]);
    const { nextCursor = null } = answer as { readonly nextCursor?: string };
    return { items: itemsOf(answer), cursor: nextCursor };
  });
}

export function checkFilter(filter: object, known: readonly string[], what: string): void {
  refuseUnknown(filter, [...known, ...PAGE_OPTIONS], what);
}

/** The field as an object; empty when the value is undefined. */
export function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { [N in Name]?: Exclude<Value, undefined> } {
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Exclude<Value, undefined> };
}
