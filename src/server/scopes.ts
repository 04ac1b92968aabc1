/**
 * Bearer tokens and their scopes. Tokens are stored as SHA-256, and every lookup compares with all of them in constant
 * time, so that neither timing nor a core dump reveals a token. The list may hold the hash instead of the token
 * (`sha256:<hex>`); a hash is never accepted as a token. The list can be replaced while the server runs.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Refusal } from '../core/refusals.ts';
import type { Scope, ScopeNeeded } from '../operations/operation.ts';

export interface TokenGrant {
  /** The token itself, or `sha256:` and the 64 hexadecimal digits of its SHA-256. */
  readonly token: string;
  readonly scopes: readonly string[];
  readonly name?: string;
}

/** Who sent a request, by its token. */
export interface Caller {
  readonly name: string;
  /** Its scopes, with the implied ones. */
  readonly scopes: ReadonlySet<string>;
  /** Its scopes as the list has them. */
  readonly granted: readonly string[];
  readonly revocation: Revocation;
}

/** Notifies the open streams and waits of a token when a new list drops the token or takes a scope from it. */
export class Revocation {
  private readonly calls = new Set<() => void>();
  private isRevoked = false;

  /** Calls once, immediately if already revoked. Returns the call that unsubscribes. */
  onRevoked(call: () => void): () => void {
    if (this.isRevoked) call();
    else this.calls.add(call);
    return () => this.calls.delete(call);
  }

  revoke(): void {
    this.isRevoked = true;
    for (const call of this.calls) call();
    this.calls.clear();
  }
}

const KNOWN = ['v1:read', 'v1:write', 'v1:admin', 'v3:read', 'v3:write', 'v3:admin', '*'];

/** Without tokens only this machine can reach the server, and every caller on it may do everything. */
export const LOCAL_CALLER: Caller = {
  name: 'anybody on this machine',
  scopes: new Set(['*']),
  granted: ['*'],
  revocation: new Revocation(),
};

const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  read: ['read'],
  write: ['write', 'read'],
  admin: ['admin', 'write', 'read'],
};

export function may(caller: Pick<Caller, 'scopes'>, scope: Scope | '*'): boolean {
  return caller.scopes.has(scope) || caller.scopes.has('*');
}

/** The refusal for a caller without this scope; null if it has it. */
export function refuseScope(caller: Pick<Caller, 'name' | 'scopes'>, scope: ScopeNeeded): Refusal | null {
  if (scope === 'any' || may(caller, scope)) return null;
  const detail = `This needs the scope ${scope}, which ${caller.name} does not have.`;
  return { refused: 'FORBIDDEN', detail };
}

export class Tokens {
  private digests: readonly Buffer[] = [];
  private callers: readonly Caller[] = [];

  constructor(grants: readonly TokenGrant[]) {
    this.replace(grants);
  }

  /** Replaces the list. A token that keeps its scopes keeps its streams and waits. */
  replace(grants: readonly TokenGrant[]): void {
    const before = new Map(
      this.digests.map((digest, index) => [digest.toString('hex'), this.callers[index]!]),
    );
    this.digests = grants.map(({ token }) => listedDigest(token));
    this.callers = grants.map(({ scopes, name = null }, index) => {
      const caller = { name: name ?? `token ${index + 1}`, scopes: expand(scopes), granted: scopes };
      const key = this.digests[index]!.toString('hex');
      const old = before.get(key);
      const keepsAll = [...(old?.scopes ?? [])].every((scope) => may(caller, scope as Scope));
      if (old === undefined || !keepsAll) return { ...caller, revocation: new Revocation() };
      before.delete(key);
      return { ...caller, revocation: old.revocation };
    });
    for (const { revocation } of before.values()) revocation.revoke();
  }

  /** Null for a header without a known token. */
  find(authorization: string | undefined): Caller | null {
    if (authorization === undefined || !/^bearer +/i.test(authorization)) return null;
    const presented = digestOf(authorization.slice(7).trim());
    let found: Caller | null = null;
    for (const [index, digest] of this.digests.entries()) {
      if (timingSafeEqual(digest, presented)) found = this.callers[index]!;
    }
    return found;
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

const HASH_PREFIX = 'sha256:';
const HASH = /^sha256:[0-9a-f]{64}$/i;

/** The digest of a listed token. Never used for what a caller presents: a hash must not work as a token. */
function listedDigest(token: string): Buffer {
  return HASH.test(token) ? Buffer.from(token.slice(HASH_PREFIX.length), 'hex') : digestOf(token);
}

/** Whether the list has the token itself rather than its hash, so that its length is known. */
export function isPlain({ token }: TokenGrant): boolean {
  return !HASH.test(token);
}

function expand(scopes: readonly string[]): ReadonlySet<string> {
  return new Set(
    scopes.flatMap((scope) => {
      const [version, right = ''] = scope.split(':');
      return (IMPLIED[right] ?? []).map((implied) => `${version}:${implied}`).concat(scope);
    }),
  );
}

/** Reads `[{"token": …, "scopes": […], "name"?: …}]`; throws a sentence about the first thing that is wrong. */
export function parseTokens(text: string, source: string): TokenGrant[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new TypeError(
      `${source} is not JSON; it must be a list like [{"token": "…", "scopes": ["v1:read"]}].`,
    );
  }
  if (!Array.isArray(parsed) || parsed.length === 0) {
    throw new TypeError(`${source} must be a list of at least one token.`);
  }
  const grants = parsed.map((each: unknown, index) => grantOf(each, `Token ${index + 1} of ${source}`));
  const digests = grants.map(({ token }) => listedDigest(token).toString('hex'));
  if (new Set(digests).size < grants.length) {
    throw new TypeError(`${source} has the same token twice.`);
  }
  return grants;
}

function grantOf(each: unknown, which: string): TokenGrant {
  if (typeof each !== 'object' || each === null) throw new TypeError(`${which} is not an object.`);
  const { token, scopes, name, ...rest } = each as Record<string, unknown>;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,256}$/.test(token)) {
    throw new TypeError(`${which} must have 1 to 256 visible ASCII characters.`);
  }
  if (token.startsWith(HASH_PREFIX) && !HASH.test(token)) {
    throw new TypeError(`${which} begins with sha256: and must continue with 64 hexadecimal digits.`);
  }
  if (!Array.isArray(scopes)) throw new TypeError(`${which} must have scopes.`);
  const strange = scopes.find((scope) => !KNOWN.includes(scope as string));
  if (strange !== undefined) {
    throw new TypeError(
      `${which} has the unknown scope ${JSON.stringify(strange)}; known are ${KNOWN.join(' ')}.`,
    );
  }
  if (name !== undefined && typeof name !== 'string')
    throw new TypeError(`The name of ${which} must be text.`);
  const [field] = Object.keys(rest);
  if (field !== undefined) throw new TypeError(`${which} has the unknown field ${field}.`);
  return { token, scopes: scopes as string[], ...(name === undefined ? {} : { name }) };
}
