/** `connect`: a client of one server, or of a leader and its standbys. */
import type { Http } from '../seams/http.ts';
import type { Sockets } from '../seams/sockets.ts';
import { durationMs } from './durations.ts';
import { HttpTransport } from './http-transport.ts';
import type { RetryLimits, RetryOptions } from './retry-schedule.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ServerAddress } from './wire.ts';
import type { ClientWorld } from './world.ts';

export interface ConnectOptions {
  /** The bearer token sent with every request. */
  readonly token?: string;
  /** How often and for how long an unanswered call is retried. */
  readonly retry?: RetryOptions;
  /** 'live' (default): a WebSocket, falling back to HTTP where the upgrade is refused. 'http': HTTP only. */
  readonly transport?: 'live' | 'http';
  /** Called with background faults, such as one that stops a worker; by default they are written to stderr. */
  readonly onFault?: (fault: unknown) => void;
}

/** The URL of one server, or those of a leader and its standbys. */
export type Servers = string | URL | readonly (string | URL)[];

/** The network access of a client; `sockets` is null where there are no WebSockets. */
export interface Network {
  http(): Http;
  sockets(): Sockets | null;
}

export const DEFAULT_URL = 'http://127.0.0.1:7420';

export const CONNECT_OPTIONS: readonly string[] = ['token', 'retry', 'transport', 'onFault'];
const RETRY_OPTIONS = ['tries', 'within', 'maxMs'];

/** Sends nothing: an unreachable server is reported by the first call. */
export function connectWith<Handle>(
  Handle: new (transport: Transport, world: ClientWorld) => Handle,
  network: Network,
  world: ClientWorld,
  urls: Servers,
  options: ConnectOptions = {},
  terms: RetryLimits = {},
): Handle {
  const servers = [urls].flat().map(addressOf);
  if (servers.length === 0) throw new TypeError('At least one server must be named.');
  checkOptions(options);
  const { token = null, retry = {}, transport = 'live', onFault } = options;
  const ours = onFault === undefined ? world : { ...world, onFault };
  const patience = { ...patienceOf(retry), ...terms };
  const sockets = transport === 'live' ? network.sockets() : null;
  return new Handle(
    new HttpTransport(network.http(), ours, { servers, token, retry: patience, sockets }),
    ours,
  );
}

function addressOf(given: string | URL): ServerAddress {
  const text = given instanceof URL ? given.href : given;
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    // The part before an @ may be a secret.
    const shown = String(text).replace(/^(\w+:\/\/)?.*@/, '$1…@');
    throw new TypeError(`${shown} is not the URL of a server; it looks like ${DEFAULT_URL}.`);
  }
  // The message leaves out the URL, which contains a secret.
  if (url.username !== '' || url.password !== '') {
    throw new TypeError(`The URL of ${url.host} must not carry a password; give the option token instead.`);
  }
  if (url.search !== '' || url.hash !== '') {
    throw new TypeError(`${text} must end with its path; a query or a fragment means nothing here.`);
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

function checkOptions(options: ConnectOptions): void {
  refuseUnknown(options, CONNECT_OPTIONS, 'connect');
  const { token, retry = {}, transport = 'live', onFault } = options;
  if (transport !== 'live' && transport !== 'http')
    throw new TypeError("The option transport must be 'live' or 'http'.");
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError('The option token must be visible ASCII characters without spaces.');
  }
  if (onFault !== undefined && typeof onFault !== 'function')
    throw new TypeError('The option onFault must be a function.');
  refuseUnknown(retry, RETRY_OPTIONS, 'connect.retry');
  const { tries = 1 } = retry;
  if (!Number.isInteger(tries) || tries < 1)
    throw new TypeError('The option retry.tries must be a whole number above 0.');
}

function patienceOf({ tries, within, maxMs }: RetryOptions): RetryLimits {
  const limit = within ?? maxMs;
  return {
    ...(tries === undefined ? {} : { tries }),
    ...(limit === undefined ? {} : { maxMs: durationMs(limit, 'time retry.within') }),
  };
}
