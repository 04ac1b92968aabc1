/**
 * The client of the page: calls the server, keeps the token of the tab, and tracks whether the server answers. A
 * refusal is thrown as `Refused`; a server that does not answer is `away` until it does.
 */
import { signal } from '@preact/signals';
import {
  type Body,
  type Client,
  connect,
  type Operation,
  type Problem,
  type Requests,
} from '../../browser.ts';
import { moment } from './route.ts';

export type ConnectionState =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'away'; readonly sinceMs: number; readonly says: string }
  | { readonly state: 'standby'; readonly leaderUrl: string | null };

export interface Identity {
  readonly name: string;
  readonly scopes: readonly string[];
}

/** A refusal of the server. */
export class Refused extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail ?? problem.code);
    this.problem = problem;
  }
}

/** Whether the refusal means that the subject does not exist. */
export function isNotFound(fault: unknown): boolean {
  return fault instanceof Refused && fault.problem.status === 404;
}

const TOKEN_KEY = 'leasehold.token';
const options = JSON.parse(document.getElementById('console')?.dataset.options ?? '{}') as {
  readonly read_only?: boolean;
};

/** The server was started with --console-read-only. */
export const isReadOnly = options.read_only === true;
/** The base URL of the server, including any path prefix. */
export const server = new URL('.', location.href).href;

export const connection = signal<ConnectionState>({ state: 'connecting' });
export const identity = signal<Identity | null>(null);
/** Why the page asks for a token; null while it does not. */
export const tokenPrompt = signal<string | null>(null);
export const hasToken = signal(sessionStorage.getItem(TOKEN_KEY) !== null);

let client = open();

function open(): Client {
  const token = sessionStorage.getItem(TOKEN_KEY);
  // The page retries by itself and shows that it does.
  return connect(server, { retry: { tries: 1 }, ...(token === null ? {} : { token }) });
}

/** The current client, for streams. */
export function currentClient(): Client {
  return client;
}

/** Calls an operation as of the displayed moment, if the operation supports that. */
export function ask<Op extends Operation>(
  operation: Op,
  request: Requests[Op],
  signal?: AbortSignal,
): Promise<Body<Op>> {
  const at = takesMoment(operation) ? moment.value : null;
  return askNow(operation, at === null ? request : ({ ...request, ...at } as Requests[Op]), signal);
}

/** Calls an operation with the request unchanged. */
export async function askNow<Op extends Operation>(
  operation: Op,
  asked: Requests[Op],
  signal?: AbortSignal,
): Promise<Body<Op>> {
  asking++;
  try {
    const reply = await client.call(operation, asked, signal === undefined ? {} : { signal });
    if (reply.ok) {
      if (connection.value.state !== 'live') connection.value = { state: 'live' };
      return reply;
    }
    noteRefusal(reply);
    throw new Refused(reply);
  } catch (fault) {
    if (fault instanceof Refused || signal?.aborted) throw fault;
    const says = fault instanceof Error ? fault.message : String(fault);
    if (connection.value.state !== 'away') connection.value = { state: 'away', sinceMs: Date.now(), says };
    throw fault;
  } finally {
    asking--;
  }
}

/** Operations without an earlier moment: soft state, and `whoami`. */
const SOFT: Partial<Record<Operation, true>> = {
  'overview.get': true,
  'whoami.get': true,
  'worker.list': true,
  'receipt.list': true,
  'lease.waiters': true,
  'queue.figures': true,
  // Log entries: the view leaves out those after the moment.
  'lease.history': true,
  'task.history': true,
};

/** Whether an operation can answer as of an earlier moment. */
export function takesMoment(operation: Operation): boolean {
  return !(operation in SOFT);
}

let asking = 0;

/** Whether a request is in flight. */
export function isAsking(): boolean {
  return asking > 0;
}

function noteRefusal({ code, status, ...problem }: Problem): void {
  if (status === 401) {
    identity.value = null;
    tokenPrompt.value = hasToken.value
      ? 'The server does not accept this token.'
      : 'This server answers only to callers with a token.';
  } else if (code === 'NOT_LEADER') {
    connection.value = { state: 'standby', leaderUrl: problem.leader_url ?? null };
  } else if (connection.value.state !== 'live') connection.value = { state: 'live' };
}

/** Sets the token of this tab and looks up its identity. */
export async function signIn(token: string): Promise<void> {
  sessionStorage.setItem(TOKEN_KEY, token);
  await reconnect(true);
}

export async function signOut(): Promise<void> {
  sessionStorage.removeItem(TOKEN_KEY);
  await reconnect(false);
}

async function reconnect(withToken: boolean): Promise<void> {
  const before = client;
  hasToken.value = withToken;
  client = open();
  identity.value = null;
  void before.close();
  await whoAmI();
}

export async function whoAmI(): Promise<void> {
  const { name, scopes } = await ask('whoami.get', {});
  identity.value = { name, scopes };
  tokenPrompt.value = null;
}

const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  read: ['read', 'write', 'admin'],
  write: ['write', 'admin'],
  admin: ['admin'],
};

/** Whether the token has a scope. */
function has(scope: string): boolean {
  const [version, right = ''] = scope.split(':');
  const wanted = (IMPLIED[right] ?? []).map((each) => `${version}:${each}`);
  return identity.value?.scopes.some((each) => each === '*' || wanted.includes(each)) ?? false;
}

/** Whether to show a button that needs this scope. */
export function may(scope: string): boolean {
  return !isReadOnly && moment.value === null && connection.value.state === 'live' && has(scope);
}
