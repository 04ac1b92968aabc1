// What the command line of `serve` says about a database, and what of it is refused before anything is touched.
import { describe, expect, it } from 'vitest';
import { LogOutOfReachError, LogTooNewError } from '../engines/log.ts';
import { type DatabaseFlags, databaseFailure, databaseOf } from './serve-database.ts';

const ADDRESS = 'postgres://leasehold:secret@db.example.org:5433/leasehold?sslmode=require';

const read = (flags: DatabaseFlags, env: Record<string, string> = {}) => databaseOf({ env }, flags);

describe('the database of a server', () => {
  it('is named by --engine or LEASEHOLD_ENGINE, and shown without what is secret in it', () => {
    expect(read({})).toBeNull();
    for (const database of [read({ engine: ADDRESS }), read({}, { LEASEHOLD_ENGINE: ADDRESS })]) {
      expect(database).toMatchObject({
        address: ADDRESS,
        shown: 'postgres://db.example.org:5433/leasehold',
        guardTtlMs: 15_000,
        heartbeatMs: 5_000,
        advertise: null,
        allowFsyncOff: false,
      });
    }
  });

  it('is not used when a data directory is named on the command line', () => {
    expect(read({ data: 'dir' }, { LEASEHOLD_ENGINE: ADDRESS })).toBeNull();
    expect(() => read({ data: 'dir', engine: ADDRESS })).toThrow('not both');
  });

  it('has a guard of at least three heartbeats', () => {
    expect(read({ engine: ADDRESS, guardTtl: 900 })).toMatchObject({ guardTtlMs: 900, heartbeatMs: 300 });
    expect(read({ engine: ADDRESS, guardTtl: 900, heartbeat: 300 })).not.toBeNull();
    for (const flags of [{ guardTtl: 899, heartbeat: 300 }, { heartbeat: 5_001 }, { heartbeat: 0 }]) {
      expect(() => read({ engine: ADDRESS, ...flags })).toThrow('at least three heartbeats');
    }
  });

  it('advertises the URL of a server, without a slash at its end', () => {
    const advertise = 'https://leasehold-1.example.org:7420/';
    expect(read({ engine: ADDRESS, advertise })?.advertise).toBe('https://leasehold-1.example.org:7420');
    for (const wrong of ['leasehold-1', 'ftp://x', 'https://user@x', 'https://:pw@x', 'https://x?y']) {
      expect(() => read({ engine: ADDRESS, advertise: wrong })).toThrow('must be the URL');
    }
  });

  it('is a Postgres, and what was given instead is not repeated', () => {
    for (const engine of ['mysql://root:secret@host', 'secret', '']) {
      const attempt = () => read({ engine });
      expect(attempt).toThrow('not the URL of a Postgres');
      expect(attempt).not.toThrow('secret');
    }
  });

  it('is what the other options are about', () => {
    expect(() => read({ guardTtl: 1_000 })).toThrow('--guard-ttl applies to servers of a database');
    expect(() => read({ advertise: 'http://x' })).toThrow('--advertise');
  });
});

describe('a database that is away when a server starts', () => {
  it.each<[why: string, fault: Error, says: string]>([
    [
      'refuses the connection',
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }),
      'connect ECONNREFUSED',
    ],
    [
      'resets it',
      Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }),
      'read ECONNRESET',
    ],
    [
      'is not to be found under any address',
      new AggregateError([new Error('connect ECONNREFUSED ::1')]),
      'connect ECONNREFUSED ::1',
    ],
    [
      'is being shut down',
      Object.assign(new Error('the database system is shutting down'), { severity: 'FATAL' }),
      'the database system is shutting down',
    ],
    ['hangs up', new Error('Connection terminated unexpectedly'), 'Connection terminated unexpectedly'],
    [
      'does not answer a statement',
      new Error('The database has not answered for 12000 ms.'),
      'The database has not answered for 12000 ms',
    ],
    ['does not greet', new Error('timeout expired'), 'timeout expired'],
    [
      'goes during the replay',
      new LogOutOfReachError('The log cannot be read now: cut.'),
      'The log cannot be read now: cut',
    ],
  ])('is named when it %s', (_, fault, says) => {
    expect(databaseFailure(fault, ADDRESS)).toMatchObject({
      message: `The log in postgres://db.example.org:5433/leasehold cannot be opened: ${says}.`,
    });
  });

  it('is not named for what has a sentence of its own', () => {
    const tooNew = new LogTooNewError('The tables are of version 2.');
    expect(databaseFailure(tooNew, ADDRESS)).toBe(tooNew);
    const taken = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', syscall: 'listen' });
    expect(databaseFailure(taken, ADDRESS)).toBe(taken);
  });
});
