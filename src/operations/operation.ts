/**
 * What an operation is: one definition holds its place on the wire, its request and reply with a description of every
 * field, its refusals, how a client may retry it, and the way from request to command and from answer to body. HTTP
 * routes, request checks, `/v1/batch`, OpenAPI, docs, client methods and retry rules are derived from the table of
 * definitions (`table.ts`). To add an operation, add a definition and list it there.
 */
import { type Static, type TObject, Type } from '@sinclair/typebox';
import type { CallOptions } from '../authority/request.ts';
import type { Answers } from '../core/answers.ts';
import type { Command } from '../core/commands.ts';
import type { Refusal, RefusalCode } from '../core/refusals.ts';
import type { Json } from '../protocol/json.ts';
import type { ChangeContext, LeaderContext, ReadContext, StateSource } from './contexts.ts';
import { PAST_FIELDS, type PastFields } from './past-fields.ts';

export type Scope = `${'v1' | 'v3'}:${'read' | 'write' | 'admin'}`;

/** `any`: every token, whatever its scopes. */
export type ScopeNeeded = Scope | 'any';

/**
 * How a client retries after a lost reply, when the first try may have been carried out. 'safe': the operation is
 * idempotent. `fills`: the field by which the authority recognises a second try; the client fills it in when the caller
 * gives none. `needs`: without this field a second try could do more than the first. `looks`: a refusal of the second
 * try may come from the first, so the client reads the subject before it believes the refusal.
 */
export type Retry =
  | 'safe'
  | {
      readonly fills?: 'task_id' | 'request_id' | 'token';
      readonly needs?: 'lease_seq' | 'if_version';
      readonly looks?: true;
    };

/** A scope that a particular request needs besides that of its operation, and the detail of the refusal. */
export interface ExtraScope {
  readonly scope: Scope | '*';
  readonly detail: string;
}

/** A body as it is on the wire: opaque fields are any JSON. */
export type Plain<T> = T extends Json
  ? unknown
  : T extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Plain<T[Key]> }
      : T;

/** What every definition says about the wire. */
export interface Wire<
  Name extends string = string,
  Method extends 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  Codes extends readonly RefusalCode[] = readonly RefusalCode[],
  Request extends TObject = TObject,
  Reply extends TObject = TObject,
> {
  readonly name: Name;
  readonly method: Method;
  /** Fields of the request in braces are taken from the path, the others from the body or the query. */
  readonly path: string;
  readonly scope: ScopeNeeded;
  /** The status of a reply that is not a problem. */
  readonly status: 200 | 201 | 202;
  /** One line for people. */
  readonly does: string;
  /** More for `docs/http.md`, in Markdown: what the schemas do not say. */
  readonly details?: string;
  readonly request: Request;
  readonly reply: Reply;
  /** The refusals of this operation, besides those that every operation has. */
  readonly refusals: Codes;
  readonly example: {
    readonly request: Plain<Static<Request>>;
    readonly reply: Plain<Static<Reply>>;
  };
}

/** An operation that is sent to the authority as a command. */
export interface Change<
  Name extends string = string,
  Method extends 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  Codes extends readonly RefusalCode[] = readonly RefusalCode[],
  Request extends TObject = TObject,
  Reply extends TObject = TObject,
  C extends Command = Command,
  Batch extends boolean = boolean,
  Prepared = unknown,
> extends Wire<Name, Method, Codes, Request, Reply> {
  /** Whether it is allowed in a `/v1/batch`. */
  readonly batch?: Batch;
  readonly retry: Retry;
  /** It walks a list first: it takes turns with lists. */
  readonly long?: 'list';
  /** Keeps or ends ownership: it is decided before creates when the authority is behind. */
  readonly urgent?: true;
  /** Renews leases: clients send it on a separate connection, ahead of other calls. */
  readonly renews?: true;
  /** Refused while the disk is full. */
  readonly refusedWhenFull?: true;
  /** The reply is a grant; a grant whose reply is not delivered is given back. */
  readonly grants?: true;
  /** A token is generated when the request has none. */
  readonly needsToken?: true;
  /** The body shows the id of the request instead of its token. */
  readonly showsRequestId?: true;
  readonly extraScope?: (request: Static<Request>) => ExtraScope | null;
  /**
   * Reads what the command needs from the log, before the command is made and queued. The state may change in between, so
   * the rule must check that what was read still applies.
   */
  readonly prepare?: (request: Static<Request>, source: StateSource) => Promise<Prepared>;
  /** `isAdmin`: whether the caller has the scope v1:admin. */
  readonly command: (
    request: Static<Request>,
    token: string,
    context: ChangeContext,
    isAdmin: boolean,
    prepared: Prepared,
  ) => C | Refusal;
  readonly body: (
    answer: Answers[C['type']],
    shown: string,
    context: ChangeContext,
  ) => { readonly ok: true } & Readonly<Static<Reply>>;
}

/** An operation that reads the state, queued with the changes: what it sees is durable when its answer is delivered. */
export interface Read<
  Name extends string = string,
  Codes extends readonly RefusalCode[] = readonly RefusalCode[],
  Request extends TObject = TObject,
  Reply extends TObject = TObject,
  Context = LeaderContext,
  Method extends 'GET' | 'POST' = 'GET' | 'POST',
> extends Wire<Name, Method, Codes, Request, Reply> {
  /** A standby answers it too, from its own copy of the state. */
  readonly onStandby: Context extends LeaderContext ? false : true;
  /** It takes `at_seq` and `at`, and answers as of that position. */
  readonly past?: true;
  /** Its answer may be long: it takes turns with others of its kind, and waits while too much is unsent. */
  readonly long?: 'history' | 'list' | 'record';
  readonly look: (
    request: Static<Request>,
    context: Context,
    options: CallOptions,
  ) => Promise<({ readonly ok: true } & Readonly<Static<Reply>>) | Refusal>;
}

export function change<
  const Name extends string,
  const Method extends 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  const Codes extends readonly RefusalCode[],
  Request extends TObject,
  Reply extends TObject,
  C extends Command,
  const Batch extends boolean = false,
  Prepared = unknown,
>(
  definition: Change<Name, Method, Codes, Request, Reply, C, Batch, Prepared>,
): Change<Name, Method, Codes, Request, Reply, C, Batch, Prepared> {
  return definition;
}

type ReadDefinition<
  Name extends string,
  Codes extends readonly RefusalCode[],
  Request extends TObject,
  Reply extends TObject,
  Context,
> = Omit<Read<Name, Codes, Request, Reply, Context, 'GET'>, 'method' | 'scope' | 'status' | 'onStandby'> & {
  readonly scope?: ScopeNeeded;
};

type WithPast<Request extends TObject> =
  TObject<Request['properties'] & PastFields> extends infer Both extends TObject ? Both : never;

/** A read that needs only the state, so a standby can answer it too, and the time machine for an earlier moment. */
export function stateRead<
  const Name extends string,
  const Codes extends readonly RefusalCode[],
  Request extends TObject,
  Reply extends TObject,
>(
  definition: ReadDefinition<Name, Codes, Request, Reply, ReadContext>,
): Read<Name, Codes, WithPast<Request>, Reply, ReadContext, 'GET'> {
  const { request, ...rest } = serverRead(definition);
  const both = Type.Object({ ...request.properties, ...PAST_FIELDS }, { additionalProperties: false });
  return { ...rest, past: true, request: both as unknown as WithPast<Request> } as Read<
    Name,
    Codes,
    WithPast<Request>,
    Reply,
    ReadContext,
    'GET'
  >;
}

/** A read of what the server knows besides the state; a standby answers for itself. */
export function serverRead<
  const Name extends string,
  const Codes extends readonly RefusalCode[],
  Request extends TObject,
  Reply extends TObject,
>(
  definition: ReadDefinition<Name, Codes, Request, Reply, ReadContext>,
): Read<Name, Codes, Request, Reply, ReadContext, 'GET'> {
  return { method: 'GET', scope: 'v1:read', status: 200, onStandby: true, ...definition };
}

/** A read that needs the log or the soft state of the leader. */
export function leaderRead<
  const Name extends string,
  const Codes extends readonly RefusalCode[],
  Request extends TObject,
  Reply extends TObject,
>(
  definition: ReadDefinition<Name, Codes, Request, Reply, LeaderContext>,
): Read<Name, Codes, Request, Reply, LeaderContext, 'GET'> {
  return { method: 'GET', scope: 'v1:read', status: 200, onStandby: false, ...definition };
}

/** What the leader does without a change of the state. */
export function leaderAct<
  const Name extends string,
  const Codes extends readonly RefusalCode[],
  Request extends TObject,
  Reply extends TObject,
>(
  definition: ReadDefinition<Name, Codes, Request, Reply, LeaderContext> & { readonly scope: ScopeNeeded },
): Read<Name, Codes, Request, Reply, LeaderContext, 'POST'> {
  return { method: 'POST', status: 200, onStandby: false, ...definition };
}
