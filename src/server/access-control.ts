/** Which requests are admitted: checks the network, then Host and Origin where there are no tokens, then the token, then its scope. */
import type { IncomingMessage } from 'node:http';
import type { Refusal } from '../core/refusals.ts';
import type { ScopeNeeded } from '../operations/operation.ts';
import { foreignRequest, forwardedRequest, isLoopback, LanGuard } from './network.ts';
import { type Caller, LOCAL_CALLER, Revocation, refuseScope, type TokenGrant, Tokens } from './scopes.ts';

export interface AccessOptions {
  readonly tokens?: readonly TokenGrant[];
  readonly allowNets?: readonly string[];
  readonly trustedProxies?: readonly string[];
}

export interface Admission {
  readonly caller: Caller;
  readonly refusal: Refusal | null;
}

export const ANONYMOUS: Caller = {
  name: 'anonymous',
  scopes: new Set(),
  granted: [],
  revocation: new Revocation(),
};
const ADMITTED: Admission = { caller: LOCAL_CALLER, refusal: null };

export class AccessControl {
  private readonly tokens: Tokens | null;
  private readonly lan: LanGuard;

  constructor({ tokens = [], allowNets = [], trustedProxies = [] }: AccessOptions) {
    this.tokens = tokens.length === 0 ? null : new Tokens(tokens);
    this.lan = new LanGuard(allowNets, trustedProxies);
  }

  /** Without tokens every caller that reaches the port may do everything, so only this machine may reach it. */
  assertMayListenOn(host: string): void {
    if (this.tokens !== null || isLoopback(host)) return;
    throw new TypeError(
      `Without tokens the server listens on this machine only, and ${host} is not a loopback address. Set LEASEHOLD_TOKENS or --tokens FILE.`,
    );
  }

  /** Does nothing on a server that was started without tokens. */
  replaceTokens(grants: readonly TokenGrant[]): void {
    this.tokens?.replace(grants);
  }

  admit(request: IncomingMessage, scope: ScopeNeeded | null): Admission {
    const foreign = this.refuseForeign(request);
    if (foreign !== null) return refused(foreign);
    if (this.tokens === null) return ADMITTED;
    if (scope === null) return { caller: ANONYMOUS, refusal: null };
    const caller = this.tokens.find(request.headers.authorization);
    if (caller === null) return refused({ refused: 'UNAUTHENTICATED' });
    const refusal = refuseScope(caller, scope);
    return { caller, refusal };
  }

  /** A live connection: its token may come in the first message, because browsers cannot send a header. */
  admitLive(request: IncomingMessage): Admission | 'token first' {
    const { authorization } = request.headers;
    if (this.tokens !== null && authorization === undefined) {
      const foreign = this.refuseForeign(request);
      return foreign === null ? 'token first' : refused(foreign);
    }
    return this.admit(request, 'any');
  }

  /** Null for an unknown token. */
  callerOf(token: string): Caller | null {
    return this.tokens?.find(`Bearer ${token}`) ?? null;
  }

  /** The address behind trusted proxies; null when there is no proxy, or it does not say. */
  forwardedFrom({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string | null {
    const peer = socket.remoteAddress ?? '';
    const client = this.lan.clientOf(peer, chainOf(headers));
    return client === peer ? null : client;
  }

  private refuseForeign({ headers, socket, httpVersionMinor }: IncomingMessage): Refusal | null {
    if (!this.lan.isOpen) {
      const outside = this.lan.refuses(socket.remoteAddress ?? '', chainOf(headers));
      if (outside !== null) return { refused: 'FORBIDDEN', detail: outside };
    }
    if (headers.host === undefined && httpVersionMinor > 0) {
      return { refused: 'INVALID_ARGUMENT', detail: 'The Host header is missing.' };
    }
    if (this.tokens !== null) return null;
    const isProxied = this.lan.isProxy(socket.remoteAddress ?? '');
    const foreign =
      (isProxied ? null : forwardedRequest(headers)) ??
      foreignRequest(headers.host, headers.origin, isProxied ? headers['x-forwarded-host'] : undefined);
    return foreign === null ? null : { refused: 'FORBIDDEN', detail: foreign };
  }
}

function chainOf({ 'x-forwarded-for': forwardedFor }: IncomingMessage['headers']): string | undefined {
  return Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor;
}

function refused(refusal: Refusal): Admission {
  return { caller: ANONYMOUS, refusal };
}
