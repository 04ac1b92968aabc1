// Commands while no server answers: they wait for one that starts or restarts, say so once, and end at once on Ctrl-C.
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliBench, until } from '../support/cli-processes.ts';

let bench: CliBench;

beforeEach(async () => {
  bench = new CliBench();
  bench.url = await freeUrl();
});

afterEach(() => bench.close());

async function freeUrl(): Promise<string> {
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe('a command without a server', () => {
  it('waits for one that starts later, and says so once', async () => {
    const add = bench.start(['task', 'add', '1', '--id', 'early']);
    await add.says(/Waiting up to/);
    await bench.serve();
    const { status, stdout, stderr } = await add.ended;
    expect([status, stdout]).toEqual([0, expect.stringContaining('early waits in queue default')]);
    expect(stderr).toMatch(
      /^leasehold: Waiting up to 30.0s for the server at http:\/\/127.0.0.1:\d+: UNREACHABLE: .+\n$/,
    );
  });

  it('says so as one JSON object with --json', async () => {
    const { status, stderr } = await bench.run(['task', 'ls', '--json', '--retry-for', '1s']);
    expect(status).toBe(1);
    const [waiting, failed, ...rest] = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(waiting).toMatchObject({ waiting_for: bench.url, code: 'UNREACHABLE', retry_for_ms: 1_000 });
    expect(failed).toMatchObject({ code: 'UNREACHABLE', exit_code: 1 });
    expect(rest).toEqual([]);
  });

  it('fails at once with --retry-for 0, before or after its own name', async () => {
    const says = `leasehold: No leasehold server answers at ${bench.url}. Start one with \`leasehold up\`, or name another with --server or LEASEHOLD_URL. A data directory that a program has opened with open() has no server.\n`;
    for (const words of [
      ['task', 'ls', '--retry-for', '0'],
      ['--retry-for', '0', 'task', 'ls'],
    ])
      expect(await bench.run(words)).toMatchObject({ status: 1, stderr: says });
  });

  it.each([
    ['task', 'add', '1'],
    ['work', 'mail', '--', 'true'],
    ['run', 'door', '--', 'true'],
  ])('ends at once on Ctrl-C: %s', async (...words) => {
    const command = bench.start(words);
    await command.says(/Waiting up to/);
    const fromMs = performance.now();
    command.kill('SIGINT');
    const { status, signal } = await command.ended;
    expect(signal ?? status).toBe(words[0] === 'run' ? 130 : 'SIGINT');
    expect(performance.now() - fromMs).toBeLessThan(2_000);
  });
});

describe('a server that is killed and restarted', () => {
  it('loses no task that is added meanwhile', async () => {
    await bench.serve();
    expect(await bench.run(['task', 'add', '1', '--id', 'before'])).toMatchObject({ status: 0 });
    await bench.stopServer('SIGKILL');
    const adds = ['a', 'b', 'c'].map((id) => bench.start(['task', 'add', '1', '--id', id]));
    await Promise.all(adds.map((add) => add.says(/Waiting up to/)));
    await bench.serve();
    for (const add of adds) expect(await add.ended).toMatchObject({ status: 0 });
    await until('all four', async () => (await bench.get('/v1/tasks')).tasks.length === 4);
  });
});
