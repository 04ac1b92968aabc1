// What `connect` takes, and what it refuses in a sentence before anything is sent.
import { describe, expect, it } from 'vitest';
import { replyOf } from '../../test/support/loopback-http.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { Http, HttpRequest } from '../seams/http.ts';
import { Client } from './client.ts';
import { connectWith } from './connect.ts';

const world = new ManualWorld();

function recorded() {
  const sent: HttpRequest[] = [];
  const http: Http = {
    async send(request) {
      sent.push(request);
      return replyOf(200, '{"workers":[]}');
    },
    stream: () => Promise.reject(new Error('No stream was expected.')),
    async close() {},
  };
  return { sent, http: () => http };
}

const network = { http: recorded().http, sockets: () => null };

const NO_DURATION =
  'is not a duration: give milliseconds as a number, or text such as 500ms, 15s, 1m, 2h or 1d.';

describe('connect', () => {
  it.each([
    ['http://127.0.0.1:7420', 'http://127.0.0.1:7420', '/v1/workers'],
    ['http://127.0.0.1:7420/', 'http://127.0.0.1:7420', '/v1/workers'],
    ['https://leases.example/below//', 'https://leases.example', '/below/v1/workers'],
    ['HTTP://Leases.Example:80', 'http://leases.example', '/v1/workers'],
    ['http://[::1]:7420', 'http://[::1]:7420', '/v1/workers'],
    [new URL('http://127.0.0.1:7420/below'), 'http://127.0.0.1:7420', '/below/v1/workers'],
  ])('takes %s', async (url, origin, path) => {
    const { sent, http } = recorded();
    const lh = connectWith(Client, { http, sockets: () => null }, world, url, { token: 'secret' });
    expect(sent).toEqual([]);
    expect(await lh.call('worker.list', {})).toEqual({ ok: true, workers: [] });
    expect(sent[0]).toMatchObject({ origin, path, headers: { authorization: 'Bearer secret' } });
    await lh.close();
  });

  it.each([
    ['localhost:7420', 'localhost:7420 is not the URL of a server; it looks like http://127.0.0.1:7420.'],
    ['ftp://x', 'ftp://x is not the URL of a server; it looks like http://127.0.0.1:7420.'],
    ['', ' is not the URL of a server; it looks like http://127.0.0.1:7420.'],
    [7, '7 is not the URL of a server; it looks like http://127.0.0.1:7420.'],
    ['ftp://me:pass@x', 'ftp://…@x is not the URL of a server; it looks like http://127.0.0.1:7420.'],
    [
      'http://me:p/s@x:99999',
      'http://…@x:99999 is not the URL of a server; it looks like http://127.0.0.1:7420.',
    ],
    ['http://me:pass@x', 'The URL of x must not carry a password; give the option token instead.'],
    ['http://x/?a=1', 'http://x/?a=1 must end with its path; a query or a fragment means nothing here.'],
  ])('refuses %s', (url, says) => {
    expect(() => connectWith(Client, network, world, url as string)).toThrow(new TypeError(says));
    expect(() => connectWith(Client, network, world, ['http://ok', url as string])).toThrow(says);
  });

  it('refuses no server at all', () => {
    expect(() => connectWith(Client, network, world, [])).toThrow('At least one server must be named.');
  });

  it.each([
    [{ tokn: 'x' }, 'The option tokn of connect is not known; known are token, retry, transport, onFault.'],
    [{ token: 'two words' }, 'The option token must be visible ASCII characters without spaces.'],
    [{ token: '' }, 'The option token must be visible ASCII characters without spaces.'],
    [{ retry: { try: 1 } }, 'The option try of connect.retry is not known; known are tries, within, maxMs.'],
    [{ retry: { tries: 0 } }, 'The option retry.tries must be a whole number above 0.'],
    [{ retry: { within: 'soon' } }, `The time retry.within "soon" ${NO_DURATION}`],
    [{ retry: { maxMs: -1 } }, `The time retry.within -1 ${NO_DURATION}`],
    [{ onFault: 1 }, 'The option onFault must be a function.'],
  ])('refuses the options %j', (options, says) => {
    expect(() => connectWith(Client, network, world, 'http://x', options as object)).toThrow(
      new TypeError(says),
    );
  });
});
