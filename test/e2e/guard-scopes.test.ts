// A guard in real processes and under tokens: v1:write is enough to hold one, and not enough to depose its holder.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CliBench, type Result } from '../support/cli-processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const GUARD = 'system:reports:guard';
const WRITER = { LEASEHOLD_TOKEN: 'token-of-a-writer' };
const ADMIN = { LEASEHOLD_TOKEN: 'token-of-an-admin' };

let bench: CliBench;

beforeAll(async () => {
  bench = new CliBench();
  const tokens = [
    { token: WRITER.LEASEHOLD_TOKEN, scopes: ['v1:write'] },
    { token: ADMIN.LEASEHOLD_TOKEN, scopes: ['v1:admin'] },
  ];
  await bench.serve({ LEASEHOLD_TOKENS: JSON.stringify(tokens) });
});

afterAll(() => bench.close());

/** Says `guarded` while it holds the guard, and ends with its input. */
const PROGRAM = `
  import { connect } from 'leasehold';
  const lh = connect();
  await lh.guard({ name: '${GUARD}', holder: 'reports', ttl: '30s' }, async () => {
    console.log('guarded');
    for await (const _ of process.stdin);
  });
  await lh.close();
`;

function acquire(name: string, env: Record<string, string>): Promise<Result> {
  return bench.run(['lease', 'acquire', name, '--holder', 'reports', '--ttl', '15s'], { env });
}

it('a process that holds a guard with v1:write is deposed by an admin only', async () => {
  const env = { ...process.env, ...WRITER, LEASEHOLD_URL: bench.url };
  const program = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    cwd: ROOT,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => program.once('close', resolve));
  try {
    await new Promise((resolve) => program.stdout.once('data', resolve));
    const says = `${GUARD} is held. Acquiring it anew needs the token of that grant or the scope v1:admin.`;
    const thief = await acquire(GUARD, WRITER);
    expect(thief.stderr).toContain(says);
    expect(thief.status).toBe(1);
    const runner = await bench.run(['run', GUARD, '--holder', 'reports', '--', 'true'], { env: WRITER });
    expect(runner.stderr).toContain(says);
    expect(runner.status).not.toBe(0);
    program.stdin.end();
    expect(await ended).toBe(0);
  } finally {
    program.kill('SIGKILL');
  }
  const admin = await acquire(GUARD, ADMIN);
  expect(admin.status).toBe(0);
  expect((await acquire(GUARD, ADMIN)).status).toBe(0);
});

it('the guard of the orchestrator is for an admin, held or not', async () => {
  const name = 'system:orchestrator:guard_lock';
  for (const isHeld of [false, true]) {
    const { status, stderr } = await acquire(name, WRITER);
    expect(stderr).toContain(
      'Acquiring names that begin with system:orchestrator: needs the scope v1:admin.',
    );
    expect(status).toBe(1);
    if (!isHeld) expect((await acquire(name, ADMIN)).status).toBe(0);
  }
});
