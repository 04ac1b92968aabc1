// What `leasehold serve` says when it cannot begin: which of the address and the data directory is to blame.
import { describe, expect, it } from 'vitest';
import { servingFailure } from './serve.ts';

/** As the system throws it. */
function fault(code: string, syscall: string, more: object = {}): Error {
  return Object.assign(new Error(`${code}: ${syscall}`), { code, syscall, ...more });
}

const PLACE = { dir: '/data', host: 'here', port: 80 };

describe('a server that cannot begin', () => {
  it.each([
    ['a port it may not have', fault('EACCES', 'listen'), 'The server cannot listen on here:80 (EACCES).'],
    [
      'an address that is not its own',
      fault('EADDRNOTAVAIL', 'listen'),
      'The server cannot listen on here:80 (EADDRNOTAVAIL).',
    ],
    [
      'an unknown host',
      fault('ENOTFOUND', 'getaddrinfo', { hostname: 'here' }),
      'The server cannot listen on here:80 (ENOTFOUND).',
    ],
    [
      'a port that is taken',
      fault('EADDRINUSE', 'listen'),
      'Port 80 on here is taken; stop what listens there or choose another with --listen.',
    ],
    [
      'a data directory of another user',
      fault('EACCES', 'scandir', { path: '/data' }),
      'The data directory /data cannot be used: /data may not be opened (EACCES).',
    ],
    [
      'a file of another user in it',
      fault('EPERM', 'open', { path: '/data/LOCK' }),
      'The data directory /data cannot be used: /data/LOCK may not be opened (EPERM).',
    ],
    [
      'a full disk, whichever file had no room',
      fault('ENOSPC', 'write'),
      'The disk of the data directory /data is full (ENOSPC), and a start needs a little room there: free some.',
    ],
  ])('tells of %s', (_, found, message) => {
    expect(servingFailure(found, PLACE)).toMatchObject({ exitCode: 1, message });
  });

  it('takes the host of a database for nothing it should listen on', () => {
    const found = fault('ENOTFOUND', 'getaddrinfo', { hostname: 'db' });
    expect(servingFailure(found, PLACE)).toBe(found);
  });
});
