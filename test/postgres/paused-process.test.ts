// The program of docs/guides/postgres.md, run as it stands there against the built package, paused with SIGSTOP past the
// end of its lease and woken up under its successor.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestDatabase } from '../support/postgres.ts';
import { acquired } from '../support/postgres-lease.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const guide = readFileSync(new URL('../../docs/guides/postgres.md', import.meta.url), 'utf8');
const [, program = ''] = /```js\n(import pg[\s\S]*?)```/.exec(guide) ?? [];

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
});
afterAll(() => db.drop());

class Program {
  private readonly child: ChildProcess;
  private text = '';

  constructor() {
    const env = { ...process.env, DATABASE_URL: db.url };
    const args = ['--input-type=module', '-e', program];
    this.child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
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
  it('writes when nobody is in its way, and leaves no lease behind', async () => {
    const { code, text } = await new Program().ended();
    expect(text).toMatch(/^working as number \d+\nwritten\n$/);
    expect(code).toBe(0);
    expect(await db.value('SELECT body FROM reports')).toMatch(/^by /);
    expect(await db.leases()).toBe(0);
  });

  it('cannot write when it was paused past the end of its lease', async () => {
    const paused = new Program();
    try {
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
    } finally {
      paused.signal('SIGKILL');
    }
  });
});
