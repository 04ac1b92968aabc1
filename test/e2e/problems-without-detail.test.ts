// A server, or a proxy before one, whose problems have a code and no words: RFC 9457 asks for neither title nor detail.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CliBench } from '../support/cli-processes.ts';

let words: object = {};
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(500, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ code: 'INTERNAL', ...words }));
  });
});
let bench: CliBench;

beforeAll(async () => {
  bench = new CliBench();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  bench.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await bench.close();
});

it.each([
  [{}, 'INTERNAL: The server does not say why.'],
  [{ detail: '' }, 'INTERNAL: The server does not say why.'],
  [{ title: 'The disk is on fire.' }, 'INTERNAL: The disk is on fire.'],
])('with the words %j it is still reported in a sentence', async (said, sentence) => {
  words = said;
  const orchestrator = await bench.run(['orchestrate']);
  expect(orchestrator.stderr).toContain(`(${sentence})`);
  expect(orchestrator.status).toBe(3);
  for (const command of [
    ['status'],
    ['lease', 'acquire', 'n', '--holder', 'h', '--ttl', '15s'],
    ['log', 'tail'],
  ]) {
    const { status, stderr } = await bench.run(command);
    expect([status, stderr.trim()]).toEqual([1, `leasehold: ${sentence}`]);
  }
});
