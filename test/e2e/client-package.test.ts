// The client as programs on Node get it: imported and required, with defaults from the environment, in processes that
// end when nothing is left to do and not before.
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const requests: IncomingMessage[] = [];
let url: string;

/** Answers what the scripts below ask, and lets those wait that want to. */
const server = createServer((request, response) => {
  requests.push(request);
  const waitMs = request.url?.includes('/acquire') ? 300 : 0;
  const body = request.url === '/v1/tasks' ? { task_id: 'made', seq: 2 } : { name: 'n', seq: 2 };
  request.resume().on('end', () => {
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }, waitMs);
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

beforeEach(() => {
  requests.length = 0;
});

function run(
  script: string,
  type: 'commonjs' | 'module',
): Promise<{ status: number | null; stdout: string }> {
  const env = {
    ...process.env,
    LEASEHOLD_URL: url,
    LEASEHOLD_TOKEN: 'from-the-environment',
    NODE_NO_WARNINGS: '1',
  };
  const child = spawn(process.execPath, [`--input-type=${type}`, '-e', script], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk;
  });
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, stdout })));
}

const create = "connect().call('task.create', { payload: 1 }).then(({ task_id }) => console.log(task_id));";

describe.each(['leasehold', 'leasehold/client'])('connect of %s', (name) => {
  it.each([
    ['imported', 'module', `import { connect } from '${name}'; ${create}`],
    ['required', 'commonjs', `const { connect } = require('${name}'); ${create}`],
  ] as const)(
    'can be %s, takes its defaults from the environment, and keeps no process alive',
    async (_, type, script) => {
      expect(await run(script, type)).toEqual({ status: 0, stdout: 'made\n' });
      expect(
        requests.map(({ url: path, headers }) => [path, headers.authorization, headers['user-agent']]),
      ).toEqual(
        // It has no live connection to offer, so the call goes by HTTP.
        ['/v1/live', '/v1/tasks'].map((path) => [path, 'Bearer from-the-environment', 'leasehold']),
      );
    },
  );

  it('keeps a process alive while a call waits', async () => {
    const script = `import { connect } from '${name}';
      const lh = connect('${url}', { token: 'mine' });
      const reply = await lh.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 1000, wait_ms: 5000 });
      console.log(reply.name);`;
    expect(await run(script, 'module')).toEqual({ status: 0, stdout: 'n\n' });
    expect(requests[0]!.headers.authorization).toBe('Bearer mine');
  });

  it('keeps a process alive while a call is tried again, and tells it in the end', async () => {
    const script = `import { connect } from '${name}';
      const lh = connect('http://127.0.0.1:1', { retry: { tries: 3 } });
      await lh.status().catch(({ code, message }) => console.log(code, message));`;
    expect(await run(script, 'module')).toEqual({
      status: 0,
      stdout: 'UNREACHABLE No connection to http://127.0.0.1:1 could be made: the connection was refused.\n',
    });
  });
});
