// Real processes that are paused with SIGSTOP past the end of their lease and resumed under their successor, against the
// built package: the program of docs/guides/postgres.md as it is printed there, and an OperatorRuntime inside a command.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/postgres/migration.ts';
import { OperatorRuntime } from '../../src/postgres.ts';
import { blocksOf } from '../support/page-blocks.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquire, acquired, release } from '../support/postgres-lease.ts';
import { until } from '../support/postgres-log.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const GUIDE_PROGRAM = blocksOf('docs/guides/postgres.md').find(({ language }) => language === 'js')!.text;

/** Stays inside its command, with its transaction open, until a line arrives on stdin. */
const OPERATOR_PROGRAM = `
  import { once } from 'node:events';
  import pg from 'pg';
  import { OperatorRuntime } from 'leasehold/postgres';

  const runtime = new OperatorRuntime({
    db: new pg.Pool({ connectionString: process.env.DATABASE_URL }),
    lease: { name: 'iu_core', holder: 'paused', ttl: '2s' },
    gates: ['iu_core.apply'],
    commands: {
      dot_iu_apply: async (connection) => {
        await connection.query("INSERT INTO journal VALUES ('paused')");
        console.log('inside the command');
        await once(process.stdin, 'data');
      },
    },
  });
  await runtime.run([{ command: 'dot_iu_apply' }]);
  console.log('committed');
  process.exit(0);
`;

let db: TestDatabase;
const programs: Program[] = [];

beforeAll(async () => {
  db = await TestDatabase.create();
  await migrate(db.pool);
});
afterEach(async () => {
  for (const program of programs.splice(0)) program.signal('SIGKILL');
  await db.pool.query('DELETE FROM dot_iu_runtime_lease');
});
afterAll(() => db.drop());

class Program {
  private readonly child: ChildProcess;
  private text = '';

  constructor(program: string) {
    programs.push(this);
    const env = { ...process.env, DATABASE_URL: db.url };
    const args = ['--input-type=module', '-e', program];
    this.child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.text += chunk;
        this.child.emit('said');
      });
    }
  }

  async says(words: string): Promise<void> {
    while (!this.text.includes(words)) {
      if (this.child.exitCode !== null) throw new Error(`It ended and said: ${this.text}`);
      await new Promise((resolve) => {
        this.child.once('said', resolve);
        this.child.once('close', resolve);
      });
    }
  }

  tell(line: string): void {
    this.child.stdin?.end(`${line}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** All that it said, and how it ended. */
  async ended(): Promise<{ readonly code: number | null; readonly text: string }> {
    if (this.child.exitCode === null) await new Promise((resolve) => this.child.once('close', resolve));
    return { code: this.child.exitCode, text: this.text };
  }
}

describe('the program of the guide', () => {
  it('writes when no other holder is in its way, and leaves no lease behind', async () => {
    const { code, text } = await new Program(GUIDE_PROGRAM).ended();
    expect(text).toMatch(/^working as number \d+\nwritten\n$/);
    expect(code).toBe(0);
    expect(await db.value('SELECT body FROM reports')).toMatch(/^by /);
    expect(await db.leases()).toBe(0);
  });

  it('cannot write when it was paused past the end of its lease', async () => {
    const paused = new Program(GUIDE_PROGRAM);
    await paused.says('working as number');
    paused.signal('SIGSTOP');
    await db.pool.query(
      "SELECT pg_sleep_until((SELECT expires_at + interval '10 ms' FROM dot_iu_runtime_lease))",
    );
    const { lease_seq } = await acquired(db.pool, 'nightly', 'successor');
    await db.pool.query("UPDATE reports SET body = 'by its successor', lease_seq = $1", [lease_seq]);
    paused.signal('SIGCONT');
    const { code, text } = await paused.ended();
    expect(code).toBe(1);
    expect(text).toContain('WRITE_STALE_FENCE');
    expect(text).not.toContain('written');
    expect(await db.value('SELECT body FROM reports')).toBe('by its successor');
  });
});

describe('an OperatorRuntime that is paused inside a command', () => {
  it('blocks others no longer than its lease lasts, and cannot commit when it is resumed', async () => {
    await db.pool.query(`
      CREATE TABLE dot_config (key text PRIMARY KEY, value text NOT NULL);
      INSERT INTO dot_config VALUES ('iu_core.apply', 'false');
      CREATE TABLE journal (run text NOT NULL)`);
    const paused = new Program(OPERATOR_PROGRAM);
    await paused.says('inside the command');
    paused.signal('SIGSTOP');
    await db.pool.query('SELECT pg_sleep_until((SELECT expires_at FROM dot_iu_runtime_lease))');
    // It may be refused while the database ends the session of the paused run, but it is answered.
    await until(async () => {
      const lease = await acquire(db.pool, 'iu_core', 'a plain acquire');
      return lease !== null && release(db.pool, lease);
    });
    const successor = new OperatorRuntime({
      db: db.pool,
      lease: { name: 'iu_core', holder: 'successor', ttl: '30s' },
      gates: ['iu_core.apply'],
      commands: {
        dot_iu_apply: (connection) => connection.query("INSERT INTO journal VALUES ('successor')"),
      },
    });
    await successor.run([{ command: 'dot_iu_apply' }]);
    paused.signal('SIGCONT');
    paused.tell('go on');
    const { code, text } = await paused.ended();
    expect(code).toBe(1);
    expect(text).toContain("code: 'LEASE_LOST'");
    expect(text).not.toContain('committed');
    expect((await db.pool.query('SELECT run FROM journal')).rows).toEqual([{ run: 'successor' }]);
    expect(await db.value('SELECT value FROM dot_config')).toBe('false');
    expect(await db.leases()).toBe(0);
  });
});
