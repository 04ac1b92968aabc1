/** Wire operations as methods of the handle, as in 0.1. Removed in 0.3; use `call`. */

import type { EntryRecord } from '../operations/records.ts';
import type { Body, Operation, Requests } from '../operations/table.ts';
import type { Reply } from '../protocol/problem.ts';
import { OPERATION_ROWS } from './operation-table.ts';
import type { SessionFollowOptions } from './sessions.ts';
import type { CallOptions, Transport } from './transport.ts';

/** One wire operation as a function; the request is optional when it has no required fields. */
export type WireCall<Op extends Operation> =
  Record<never, never> extends Requests[Op]
    ? (request?: Requests[Op], options?: CallOptions) => Promise<Reply<Body<Op>>>
    : (request: Requests[Op], options?: CallOptions) => Promise<Reply<Body<Op>>>;

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** All operations of a group as methods: `lease.acquire_all` is `acquireAll` of `lease`. */
export type WireGroup<Group extends string> = {
  readonly [Op in Operation as Op extends `${Group}.${infer Name}` ? CamelCase<Name> : never]: WireCall<Op>;
};

/** @deprecated since 0.2, gone in 0.3. */
export interface WireOperations {
  readonly task: WireGroup<'task'>;
  readonly lease: WireGroup<'lease'>;
  readonly object: WireGroup<'object'> & { readonly receipts: WireCall<'receipt.list'> };
  readonly heartbeat: WireCall<'worker.heartbeat'>;
  readonly pause: WireCall<'queue.pause'>;
  readonly resume: WireCall<'queue.resume'>;
}

/** @deprecated since 0.2, gone in 0.3. */
export interface WireSession extends WireGroup<'session'> {
  readonly request: WireCall<'intent.accept'>;
  follow(sessionId: string, options?: SessionFollowOptions): AsyncIterable<EntryRecord>;
}

const TERMINAL: ReadonlySet<unknown> = new Set(['STOPPED', 'FAILED', 'CANCELLED']);

export function deprecatedOperations(transport: Transport): WireOperations {
  return {
    task: operationsOf(transport, 'task'),
    lease: operationsOf(transport, 'lease'),
    object: { ...operationsOf(transport, 'object'), receipts: run(transport, 'receipt.list') },
    heartbeat: run(transport, 'worker.heartbeat'),
    pause: run(transport, 'queue.pause'),
    resume: run(transport, 'queue.resume'),
  };
}

export function deprecatedSession(
  transport: Transport,
  endOf: (signal: AbortSignal | undefined) => AbortSignal,
): WireSession {
  return {
    ...operationsOf(transport, 'session'),
    request: run(transport, 'intent.accept'),
    async *follow(id, { from, signal } = {}) {
      const session = { id, path: `/api/v3/sessions/${encodeURIComponent(id)}/events` };
      for await (const entry of transport.follow(from ?? null, endOf(signal), { session })) {
        yield entry;
        if (TERMINAL.has(entry.state)) return;
      }
    },
  };
}

function operationsOf<Group extends string>(transport: Transport, group: Group): WireGroup<Group> {
  const names = Object.keys(OPERATION_ROWS).filter((name) => name.startsWith(`${group}.`)) as Operation[];
  return Object.fromEntries(
    names.map((name) => [camelCase(name.slice(group.length + 1)), run(transport, name)]),
  ) as WireGroup<Group>;
}

function run<Op extends Operation>(transport: Transport, operation: Op): WireCall<Op> {
  const call = (request: Requests[Op] = {} as Requests[Op], options?: CallOptions) =>
    transport.call(operation, request, options);
  return call as WireCall<Op>;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
