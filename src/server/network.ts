/**
 * Checks where requests come from. With `--allow-net` only addresses in the given networks are served; behind a trusted
 * proxy the client's address is read from X-Forwarded-For, right to left. Without tokens the server is open to this
 * machine only. A web page must not reach it through a user's browser then, so requests with a foreign Host or Origin
 * are refused.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Networks written as `10.0.0.0/8`, `fd00::/8` or a single address. */
export class Networks {
  private readonly list = new BlockList();
  readonly isEmpty: boolean;

  constructor(cidrs: readonly string[]) {
    this.isEmpty = cidrs.length === 0;
    for (const cidr of cidrs) this.add(cidr);
  }

  private add(cidr: string): void {
    const [address = '', bits, more] = cidr.split('/');
    const kind = isIP(address);
    const most = kind === 4 ? 32 : 128;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (kind === 0 || more !== undefined || !(prefix <= most)) {
      throw new TypeError(`${cidr} is not a network; write it like 10.0.0.0/8 or fd00::/8.`);
    }
    this.list.addSubnet(address, prefix, kind === 4 ? 'ipv4' : 'ipv6');
  }

  /** An IPv4 address also matches as an IPv6 socket spells it (`::ffff:10.0.0.1`). */
  has(address: string): boolean {
    const kind = isIP(address);
    return kind !== 0 && this.list.check(address, kind === 4 ? 'ipv4' : 'ipv6');
  }
}

export class LanGuard {
  private readonly allowed: Networks;
  private readonly proxies: Networks;

  constructor(allowed: readonly string[], proxies: readonly string[]) {
    this.allowed = new Networks(allowed);
    this.proxies = new Networks(proxies);
  }

  get isOpen(): boolean {
    return this.allowed.isEmpty;
  }

  /** Whether what this peer says about its client is believed. */
  isProxy(peer: string): boolean {
    return !this.proxies.isEmpty && this.proxies.has(peer);
  }

  /** A sentence about why the sender of this request is not served; null when it is. */
  refuses(peer: string, forwardedFor: string | undefined): string | null {
    if (this.isOpen) return null;
    const client = this.clientOf(peer, forwardedFor);
    if (client === null) return 'The X-Forwarded-For header has an entry that is not an IP address.';
    return this.allowed.has(client)
      ? null
      : `Requests from ${client} are not served: no --allow-net has this address.`;
  }

  /**
   * The client's address: the rightmost entry that is not a trusted proxy. Each entry counts only because the hop to
   * its right is trusted, so what a client wrote further left is never read. Null when an entry that counts is not an
   * address: the proxy did not know where the request came from, and its own address must not stand in for that.
   */
  clientOf(peer: string, forwardedFor: string | undefined): string | null {
    if (forwardedFor === undefined || !this.proxies.has(peer)) return peer;
    let client: string | null = null;
    for (const entry of forwardedFor.split(',').reverse()) {
      client = forwardedAddress(entry.trim());
      if (client === null || !this.proxies.has(client)) break;
    }
    return client;
  }
}

/** `192.0.2.1`, `192.0.2.1:4444`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:443`; null for anything else. */
function forwardedAddress(entry: string): string | null {
  const [, six, four, port = '0'] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(entry) ?? [];
  if (Number(port) > 65_535) return null;
  if (six !== undefined) return isIPv6(six) ? six : null;
  const address = four ?? entry;
  return isIP(address) === 0 ? null : address;
}

const LOOPBACK = new Networks(['127.0.0.0/8', '::1']);

export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || LOOPBACK.has(name);
}

/**
 * The one address to listen on. A name may have several: each would need a socket, and which comes first is up to the
 * machine.
 */
export function addressToListenOn(host: string): string {
  return host.toLowerCase() === 'localhost' ? '127.0.0.1' : host;
}

/** A cache of one: nearly every request has the same Host header. */
let knownHost = '';
let isKnownLoopback = false;

function isLoopbackHost(host: string): boolean {
  if (host !== knownHost) {
    isKnownLoopback = isLoopback(host.replace(/:\d*$/, ''));
    knownHost = host;
  }
  return isKnownLoopback;
}

/**
 * A sentence about why a request that came through a proxy is refused; null when it came directly. Every user of that
 * proxy would look like this machine.
 */
export function forwardedRequest(headers: IncomingHttpHeaders): string | null {
  for (const name in headers) {
    if (name.startsWith('x-forwarded-') || name === 'forwarded')
      return 'The request came through a proxy. Without tokens that needs --trusted-proxy and access control in the proxy.';
  }
  return null;
}

/**
 * A sentence about why a browser may have been tricked into this request; null when it looks honest. `forwardedHost` is the
 * host that the browser requested, as reported by a trusted proxy.
 */
export function foreignRequest(
  host: string | undefined,
  origin: string | undefined,
  forwardedHost?: string | string[],
): string | null {
  if (host === undefined) return 'The Host header is missing. Without tokens it must name this machine.';
  if (!isLoopbackHost(host)) {
    return 'The Host header names another machine. Without tokens only this machine is served.';
  }
  if (origin === undefined) return null;
  const own = [host, forwardedHost].flatMap((each) => [`http://${each}`, `https://${each}`]);
  return own.includes(origin)
    ? null
    : 'The Origin header names another site. Without tokens no other site is served.';
}
