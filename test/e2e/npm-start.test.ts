// `npm start` as a person has it: in a terminal, where Ctrl-C reaches every process of the foreground at once, npm itself
// included, which passes it on besides.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, isAlive, until } from '../support/cli-processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let dir: string;
let npm: ChildProcess;
let output: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-start-'));
  output = '';
  // Its `prestart` would build, while other tests may be using the build.
  npm = spawn('npm', ['start', '--ignore-scripts'], {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, LEASEHOLD_DATA: join(dir, 'data'), LEASEHOLD_LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [npm.stdout!, npm.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
});

afterEach(() => {
  if (isAlive(npm.pid!)) process.kill(-npm.pid!, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** Waits until the output has it. */
async function says(pattern: RegExp): Promise<RegExpExecArray> {
  await until(`${pattern} in the output of npm start`, () => pattern.test(output));
  return pattern.exec(output)!;
}

describe('npm start', () => {
  it('prints the URL, the data directory and three commands to try, and one Ctrl-C ends all of it in order', async () => {
    const [, url = ''] = await says(/ at (http:\/\/127\.0\.0\.1:\d+)/);
    expect(output).toContain(`${join(dir, 'data')} (a new log). Ctrl-C`);
    expect(output.match(/^ {4}(npx leasehold|curl) .+$/gm)).toHaveLength(3);
    await says(/taking intents .+\n/);
    // All that it says while nothing happens; what npm itself says about its configuration is not ours.
    const lines = output
      .replaceAll(/^npm .*\n/gm, '')
      .trimEnd()
      .split('\n');
    expect(lines.length).toBeLessThanOrEqual(10);
    expect(output).not.toMatch(/WARN|\{"/);
    const intent = { type: 'live', serviceRef: 'news', profileID: 'demo' };
    const { session_id: id } = (await (
      await fetch(`${url}/api/v3/intents`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(intent),
      })
    ).json()) as Body;
    await says(new RegExp(`a session is ready session_id=${id}`));
    const closed = new Promise<number | null>((resolve) => npm.once('close', resolve));
    process.kill(-npm.pid!, 'SIGINT');
    await closed;
    // In order: the session, the orchestrator, the server.
    expect(output).toMatch(/a session has ended.+ INFO {2}stopped\n.+ INFO {2}stopped\n$/s);
    expect(output).not.toContain('Ended at once');
  });
});
