// `leasehold up` on a database that another one leads: its orchestrator has nothing to do until its server leads, so it is
// not started before, and there is nothing to complain of.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliBench, type Process } from '../support/cli-processes.ts';
import { TestDatabase } from '../support/postgres.ts';
import { freeGuard } from '../support/postgres-log.ts';

/** The guard is never lost by accident, and a server that lost it finds out soon. */
const GUARD = ['--guard-ttl', '10m', '--heartbeat', '1s'];

let database: TestDatabase;
let bench: CliBench;

beforeEach(async () => {
  database = await TestDatabase.create();
  bench = new CliBench();
});

afterEach(async () => {
  await bench.close();
  await database.drop();
});

function up(name: string, ...flags: string[]): Process {
  const where = ['--engine', database.url, '--listen', '127.0.0.1:0', '--allow-fsync-off'];
  const args = [...where, '--log-dir', join(bench.dir, name), '--log-level', 'error', ...GUARD];
  return bench.start(['up', ...args, ...flags]);
}

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

describe('up on a database that another one leads', () => {
  it('says once that it stands by, and starts its orchestrator when it leads', async () => {
    const first = up('first');
    await first.says(/taking intents/);
    const second = up('second');
    const [word] = await second.says(/orchestrator is started when it leads|FATAL/);
    expect(word).not.toBe('FATAL');
    await second.says(/stands by for postgres:\/\/127\.0\.0\.1:\d+\/\S+ at http:/);
    first.kill('SIGTERM');
    expect((await first.ended).status).toBe(0);
    await second.says(/taking intents/);
    expect(count(second.stderr, /stands by/g)).toBe(1);
    expect(count(second.stderr, /leads now/g)).toBe(1);
    expect(second.stderr).not.toMatch(/FATAL|has ended/);
    second.kill('SIGTERM');
    expect((await second.ended).status).toBe(0);
  });

  it('says so as objects for programs, and ends at once while it waits', async () => {
    const first = up('first');
    await first.says(/taking intents/);
    const second = up('second', '--json');
    await second.says(/"role":"standby"/);
    const [line] = await second.says(/\{.*(orchestrator is started when it leads|FATAL).*\}/);
    expect(JSON.parse(line)).toMatchObject({ level: 'info', event: expect.stringContaining('stands by') });
    second.kill('SIGTERM');
    expect((await second.ended).status).toBe(0);
  });

  it('waits again when its server has been deposed, until it leads again', async () => {
    const first = up('first');
    await first.says(/taking intents/);
    const second = up('second');
    await second.says(/orchestrator is started when it leads|FATAL/);
    // Otherwise it might be the first to find the guard free.
    first.kill('SIGSTOP');
    await freeGuard(database);
    await second.says(/taking intents/);
    first.kill('SIGCONT');
    await first.says(/orchestrator is started when it leads/);
    second.kill('SIGTERM');
    expect((await second.ended).status).toBe(0);
    const [, meanwhile] = await first.says(
      /orchestrator is started when it leads\.\n([\s\S]*)This server leads now[\s\S]*taking intents/,
    );
    expect(meanwhile).toMatch(/^\S+Z INFO {2}$/);
  });
});
