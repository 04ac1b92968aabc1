/** The operations as the wire has them, grouped by what they are about: snake_case in, bodies or problems out. */
import type { Body, Operation, Requests } from '../operations/table.ts';
import type { Reply } from '../protocol/problem.ts';
import { OPERATION_ROWS } from './operation-table.ts';
import type { CallOptions, Transport } from './transport.ts';

/** One operation of the table as a call; a request without required fields may be left out. */
export type Run<Op extends Operation> =
  Record<never, never> extends Requests[Op]
    ? (request?: Requests[Op], options?: CallOptions) => Promise<Reply<Body<Op>>>
    : (request: Requests[Op], options?: CallOptions) => Promise<Reply<Body<Op>>>;

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** All operations of a group: `lease.acquire_all` is `acquireAll` of `lease`. */
export type Operations<Group extends string> = {
  readonly [Op in Operation as Op extends `${Group}.${infer Name}` ? CamelCase<Name> : never]: Run<Op>;
};

export function operationsOf<Group extends string>(transport: Transport, group: Group): Operations<Group> {
  const names = Object.keys(OPERATION_ROWS).filter((name) => name.startsWith(`${group}.`)) as Operation[];
  return Object.fromEntries(
    names.map((name) => [camelCase(name.slice(group.length + 1)), run(transport, name)]),
  ) as Operations<Group>;
}

export function run<Op extends Operation>(transport: Transport, operation: Op): Run<Op> {
  const call = (request: Requests[Op] = {} as Requests[Op], options?: CallOptions) =>
    transport.call(operation, request, options);
  return call as Run<Op>;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
