// From where requests may come: networks, the chain of proxies, and the marks by which a browser's request is told
// from an honest one.
import { describe, expect, it } from 'vitest';
import { addressToListenOn, foreignRequest, isLoopback, LanGuard, Networks } from './network.ts';

describe('a network', () => {
  it.each([
    ['10.0.0.0/8', '10.255.1.2', '11.0.0.0'],
    ['192.168.7.0/24', '192.168.7.255', '192.168.8.0'],
    ['192.168.7.9', '192.168.7.9', '192.168.7.8'],
    ['192.168.7.9/32', '192.168.7.9', '192.168.7.10'],
    ['10.1.2.3/8', '10.9.9.9', '9.255.255.255'],
    ['fd00::/8', 'fdff::1', 'fe00::1'],
    ['2001:db8::1', '2001:db8::1', '2001:db8::2'],
  ])('%s has %s and not %s', (cidr, inside, outside) => {
    const networks = new Networks([cidr]);
    expect(networks.has(inside)).toBe(true);
    expect(networks.has(outside)).toBe(false);
  });

  it('of all addresses has those of its own kind', () => {
    expect(new Networks(['0.0.0.0/0']).has('203.0.113.9')).toBe(true);
    expect(new Networks(['0.0.0.0/0']).has('2001:db8::1')).toBe(false);
    expect(new Networks(['::/0']).has('2001:db8::1')).toBe(true);
  });

  it('has IPv4 addresses however an IPv6 socket spells them', () => {
    const networks = new Networks(['10.0.0.0/8']);
    expect(networks.has('::ffff:10.1.2.3')).toBe(true);
    expect(networks.has('::ffff:0a01:0203')).toBe(true);
    expect(networks.has('::ffff:11.1.2.3')).toBe(false);
  });

  it.each([
    '',
    '/',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    '10.0.0/8',
    '10.0.0.0/0x8',
    'fd00::/129',
    'localhost',
    'example.org/8',
    '*',
  ])('is not made from %j', (cidr) => {
    expect(() => new Networks([cidr])).toThrow(
      new TypeError(`${cidr} is not a network; write it like 10.0.0.0/8 or fd00::/8.`),
    );
  });

  it.each(['', 'localhost', '10.0.0', '10.0.0.1:80', 'unknown', '10.0.0.0/8'])(
    'never has %j, which is no address',
    (text) => {
      expect(new Networks(['0.0.0.0/0', '::/0']).has(text)).toBe(false);
    },
  );
});

describe('the client behind proxies', () => {
  const PROXY = '10.0.0.1';
  const guard = new LanGuard(['192.168.0.0/16'], ['10.0.0.0/8', 'fd00::/8']);

  it.each([
    ['there was no proxy', '192.168.1.1', undefined, '192.168.1.1'],
    ['an untrusted peer forwards', '203.0.113.5', '192.168.1.1', '203.0.113.5'],
    ['a trusted proxy forwards', PROXY, '192.168.1.1', '192.168.1.1'],
    ['the leftmost hop was forged by the client', PROXY, '192.168.1.1, 203.0.113.5', '203.0.113.5'],
    ['several trusted proxies forward', PROXY, '203.0.113.5, 10.0.0.3, 10.0.0.2', '203.0.113.5'],
    ['a stranger stands between two trusted ones', PROXY, '10.0.0.9, 203.0.113.5, 10.0.0.2', '203.0.113.5'],
    ['only proxies are named', PROXY, '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['an IPv6 proxy forwards for an IPv6 client', 'fd00::1', '2001:db8::7', '2001:db8::7'],
    ['the socket is IPv6 and the peer is not', `::ffff:${PROXY}`, '203.0.113.5', '203.0.113.5'],
    ['the hops are spelt as IPv6', PROXY, '::ffff:203.0.113.5, ::ffff:10.0.0.2', '::ffff:203.0.113.5'],
    ['a proxy is spelt in hexadecimal', PROXY, '203.0.113.5, ::ffff:a00:2', '203.0.113.5'],
    ['there are spaces and none', PROXY, ' 203.0.113.5 ,10.0.0.2 ', '203.0.113.5'],
    ['a hop has a port', PROXY, '203.0.113.5:4711', '203.0.113.5'],
    ['a proxy has a port', PROXY, '203.0.113.5:4711, 10.0.0.2:65535', '203.0.113.5'],
    ['an IPv6 hop has brackets', PROXY, '[2001:db8::1]', '2001:db8::1'],
    ['an IPv6 hop has brackets and a port', PROXY, '[2001:db8::1]:443', '2001:db8::1'],
    ['an IPv6 proxy has brackets and a port', PROXY, '203.0.113.5, [fd00::2]:443', '203.0.113.5'],
    ['an IPv6 hop has a zone', PROXY, '[fe80::1%eth0]:443', 'fe80::1%eth0'],
    ['what is malformed lies beyond the client', PROXY, 'rubbish, 203.0.113.5', '203.0.113.5'],
    ['an untrusted peer forwards rubbish', '203.0.113.5', 'rubbish', '203.0.113.5'],
  ])('is found when %s', (_, peer, forwardedFor, client) => {
    expect(guard.clientOf(peer, forwardedFor)).toBe(client);
  });

  it.each([
    'rubbish',
    'unknown',
    '_hidden',
    '',
    ',',
    '203.0.113.5,',
    '203.0.113.5, rubbish',
    '203.0.113.5, unknown',
    'rubbish, 10.0.0.2',
    ', 10.0.0.2',
    '203.0.113.5:',
    '203.0.113.5:65536',
    '203.0.113.5:123456',
    '203.0.113.5:http',
    '203.0.113.5:80:80',
    '203.0.113',
    '0313.0.113.5',
    '203.0.113.5/32',
    '203.0.113.5 203.0.113.6',
    '"203.0.113.5"',
    '[203.0.113.5]:80',
    '[2001:db8::1',
    '2001:db8::1]',
    '[[2001:db8::1]]',
    '[2001:db8::1]443',
    '[2001:db8::1]:',
    '[2001:db8::1]:65536',
    '[]',
    '[]:443',
    'fe80::1%',
  ])('is unknown when a trusted proxy forwards %j', (forwardedFor) => {
    expect(guard.clientOf(PROXY, forwardedFor)).toBeNull();
  });

  it('is unknown when one entry is as long as the headers of a request may be', () => {
    for (const part of ['1', '1.', '[', ':', '10.0.0.2 ']) {
      expect(guard.clientOf(PROXY, part.repeat(16_384 / part.length))).toBeNull();
    }
  });

  it('is found behind as many proxies as fit into the headers of a request', () => {
    expect(guard.clientOf(PROXY, `203.0.113.5${',10.0.0.2'.repeat(1_800)}`)).toBe('203.0.113.5');
  });

  const outside = (client: string): string =>
    `Requests from ${client} are not served: no --allow-net has this address.`;
  const UNKNOWN = 'The X-Forwarded-For header has an entry that is not an IP address.';

  it.each([
    ['192.168.1.1', undefined, null],
    ['::ffff:192.168.1.1', undefined, null],
    [PROXY, '192.168.1.1', null],
    [PROXY, '192.168.1.1:80', null],
    [PROXY, undefined, outside(PROXY)],
    [PROXY, '203.0.113.5', outside('203.0.113.5')],
    [PROXY, '203.0.113.5:80', outside('203.0.113.5')],
    [PROXY, 'unknown', UNKNOWN],
    ['203.0.113.5', '192.168.1.1', outside('203.0.113.5')],
    ['203.0.113.5', 'unknown', outside('203.0.113.5')],
    ['', undefined, outside('')],
  ])('is served when it is in an allowed network, and only then: %j for %j', (peer, forwardedFor, says) => {
    expect(guard.refuses(peer, forwardedFor)).toBe(says);
  });

  it('is never the proxy itself, allowed as that may be', () => {
    const beside = new LanGuard(['10.0.0.0/8'], ['10.0.0.0/8']);
    expect(beside.refuses(PROXY, undefined)).toBeNull();
    expect(beside.refuses(PROXY, '203.0.113.5:4444')).toBe(outside('203.0.113.5'));
    expect(beside.refuses(PROXY, 'unknown')).toBe(UNKNOWN);
    expect(beside.refuses(PROXY, '203.0.113.5, unknown')).toBe(UNKNOWN);
  });

  it('may be any where no network is named', () => {
    expect(new LanGuard([], []).refuses('203.0.113.5', undefined)).toBeNull();
    expect(new LanGuard([], [PROXY]).refuses(PROXY, 'unknown')).toBeNull();
  });

  it('may have an address with a zone', () => {
    const link = new LanGuard(['fe80::/10'], ['10.0.0.0/8']);
    expect(link.refuses('fe80::1%eth0', undefined)).toBeNull();
    expect(link.refuses(PROXY, 'fe80::1%eth0')).toBeNull();
    expect(link.refuses(PROXY, '[fe80::1%eth0]:443')).toBeNull();
  });
});

describe('the loopback', () => {
  it.each(['localhost', 'LocalHost', '127.0.0.1', '127.8.9.10', '::1', '[::1]', '::ffff:127.0.0.1'])(
    'is %s',
    (host) => {
      expect(isLoopback(host)).toBe(true);
    },
  );

  it.each([
    '',
    '0.0.0.0',
    '::',
    '[::]',
    '127.1',
    '128.0.0.1',
    'localhost.example',
    '127.0.0.1.example',
    'example.org',
    '10.0.0.1',
  ])('is not %j', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});

describe('without tokens, a request', () => {
  const HOST = 'The Host header names another machine. Without tokens only this machine is served.';
  const ORIGIN = 'The Origin header names another site. Without tokens no other site is served.';

  it.each([
    'localhost',
    'localhost:7420',
    'LOCALHOST:7420',
    '127.0.0.1',
    '127.0.0.1:7420',
    '127.0.0.2:1',
    '[::1]',
    '[::1]:7420',
  ])('for the Host %s is honest', (host) => {
    expect(foreignRequest(host, undefined)).toBeNull();
  });

  it('without a Host is not', () => {
    const says = 'The Host header is missing. Without tokens it must name this machine.';
    expect(foreignRequest(undefined, undefined)).toBe(says);
  });

  it.each([
    '',
    ':7420',
    'example.org',
    'example.org:7420',
    'localhost.example.org',
    '127.0.0.1.example.org:7420',
    'localhost:7420:7420',
    'localhost@example.org',
    '10.0.0.1:7420',
    '0.0.0.0:7420',
    'local host',
    '[::1',
  ])('for the Host %s is foreign', (host) => {
    expect(foreignRequest(host, undefined)).toBe(HOST);
  });

  it.each(['http://localhost:7420', 'https://localhost:7420'])(
    'from our own page is honest: %s',
    (origin) => {
      expect(foreignRequest('localhost:7420', origin)).toBeNull();
    },
  );

  it.each([
    '',
    'null',
    'http://example.org',
    'http://localhost',
    'http://localhost:3000',
    'http://127.0.0.1:7420',
    'http://localhost:7420.example.org',
    'http://localhost:7420/',
    'localhost:7420',
    'file://',
  ])('with the Origin %j is foreign', (origin) => {
    expect(foreignRequest('localhost:7420', origin)).toBe(ORIGIN);
  });

  it('is judged anew when the Host changes', () => {
    expect(foreignRequest('localhost:1', undefined)).toBeNull();
    expect(foreignRequest('example.org', undefined)).toBe(HOST);
    expect(foreignRequest('localhost:1', undefined)).toBeNull();
  });
});

describe('the address to listen on', () => {
  it('is one for localhost, which may have two, and that of any other host is left to the system', () => {
    expect(['localhost', 'LocalHost', '::1', '0.0.0.0', 'example.com'].map(addressToListenOn)).toEqual([
      '127.0.0.1',
      '127.0.0.1',
      '::1',
      '0.0.0.0',
      'example.com',
    ]);
  });
});
