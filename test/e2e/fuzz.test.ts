// Hostile input: tens of thousands of requests, bent and broken in every way the generator knows, against a server in a
// process of its own. It goes on serving, its memory stays flat, every "no" is a problem with a code, and what is
// refused leaves no trace in the log. LEASEHOLD_FUZZ_SEED repeats a run, LEASEHOLD_FUZZ_REQUESTS makes it longer.
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REFUSALS } from '../../src/core/refusals.ts';
import { CliBench, type Process } from '../support/cli-processes.ts';
import { type FuzzRequest, FuzzRequests, SESSION_IDS } from '../support/fuzz-requests.ts';
import { type Answer, RawConnection } from '../support/served.ts';
import { expectProblem } from '../support/wire-contract.ts';

const REQUESTS = Number(process.env.LEASEHOLD_FUZZ_REQUESTS ?? 50_000);
const SEED = Number(process.env.LEASEHOLD_FUZZ_SEED ?? randomInt(2 ** 31));
const CONNECTIONS = 32;
const PATIENCE_MS = 30_000;
const GROWTH_BYTES_MAX = 192 * 1024 * 1024;
const LONG_MS = 60_000 + REQUESTS * 5;

let bench: CliBench;
let server: Process;
let port: number;

beforeEach(async () => {
  bench = new CliBench();
  const listen = ['--listen', '127.0.0.1:0', '--json', '--log-level', 'error'];
  server = bench.start(['serve', '--data', join(bench.dir, 'data'), ...listen]);
  const [, url] = await server.says(/"url":"([^"]+)"/);
  bench.url = url!;
  port = Number(new URL(url!).port);
});
afterEach(() => bench.close());

type Check = (answer: Answer, request: FuzzRequest) => void;

/** Sends so many requests over several connections at a time, and holds every answer to what is said about it. */
async function drive(count: number, next: () => FuzzRequest, check: Check): Promise<void> {
  let left = count;
  const work = async (): Promise<void> => {
    let connection: RawConnection | null = null;
    while (left > 0) {
      left -= 1;
      const request = next();
      connection ??= await RawConnection.to(port, { allowHalfOpen: true });
      const answer = await ask(connection, request);
      try {
        if (answer !== null) check(answer, request);
      } catch (fault) {
        const sent = request.bytes.toString('latin1').slice(0, 2_000);
        throw new Error(
          `After seed ${SEED}, ${count - left} requests, the last being\n${sent}\n${answer?.text}`,
          { cause: fault },
        );
      }
      const isOver = request.isLast || connection.socket.destroyed || answer?.headers.connection === 'close';
      if (!isOver) continue;
      connection.reset();
      connection = null;
    }
    connection?.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

/** Null when the connection was closed without an answer, which is right only where no request was. */
async function ask(connection: RawConnection, request: FuzzRequest): Promise<Answer | null> {
  connection.write(request.bytes);
  if (!request.isWhole) connection.socket.end();
  const timer = setTimeout(() => connection.reset(), PATIENCE_MS);
  try {
    for (;;) {
      const head = await connection.head();
      if (head.status < 200) continue;
      const isEndless =
        head.headers['transfer-encoding'] === 'chunked' &&
        /follow|events/.test(request.bytes.toString('latin1'));
      if (isEndless) connection.reset();
      return { ...head, text: request.method === 'HEAD' || isEndless ? '' : await connection.body(head) };
    }
  } catch (fault) {
    if (!request.isWhole) return null;
    throw new Error(`No answer to ${JSON.stringify(request.bytes.toString('latin1').slice(0, 2_000))}`, {
      cause: fault,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** A problem with a code, and never one that says the server made a mistake. */
function expectDecent(answer: Answer, { method }: FuzzRequest): void {
  const { status, headers } = answer;
  if (status < 400) return;
  expect(status).not.toBe(500);
  if (method === 'HEAD') expect(headers['content-type']).toBe('application/problem+json');
  else if (!isDecent(answer)) expectProblem(answer);
}

/** The same in short, because it is asked so often: only what fails here is looked at closely. */
function isDecent({ status, headers, text }: Answer): boolean {
  const { code, requestId, ...rest } = JSON.parse(text);
  const isWhole =
    rest.type === `/errors/${code}` && rest.status === status && rest.title && rest.detail && rest.instance;
  return (
    isWhole &&
    headers['content-type'] === 'application/problem+json' &&
    requestId === headers['x-request-id'] &&
    Object.hasOwn(REFUSALS, code) &&
    (status !== 503 || headers['retry-after'] !== undefined)
  );
}

async function residentBytes(): Promise<number> {
  const metrics = await (await fetch(`${bench.url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)![1]);
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`;

describe(`requests made from the seed ${SEED}`, () => {
  it('leave the server serving, its memory flat and its log whole', { timeout: LONG_MS }, async () => {
    const requests = new FuzzRequests(SEED);
    const count = Math.floor(REQUESTS * 0.8);
    const statuses = new Map<number, number>();
    const check: Check = (answer, request) => {
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      expectDecent(answer, request);
    };
    // Which ids the requests hit upon is chance, so one session they all know has ended before they come.
    const live = { type: 'live', serviceRef: '1:0:1', profileID: 'demo' };
    const { session_id: ended } = await bench.post('/api/v3/intents', live);
    await fetch(`${bench.url}/api/v3/sessions/${ended}`, { method: 'DELETE' });
    expect(SESSION_IDS).toContain(ended);
    await drive(Math.floor(count / 4), () => requests.any(), check);
    const warmBytes = await residentBytes();
    await drive(Math.ceil((count * 3) / 4), () => requests.any(), check);
    const endBytes = await residentBytes();
    console.log(
      `seed ${SEED}, ${count} requests, ${megabytes(warmBytes)} → ${megabytes(endBytes)}`,
      statuses,
    );
    expect(endBytes - warmBytes).toBeLessThan(GROWTH_BYTES_MAX);
    // A generator of nothing but refusals, or of nothing but trifles, would prove little.
    expect([...statuses.keys()]).toEqual(
      expect.arrayContaining([200, 201, 202, 400, 403, 404, 405, 409, 410, 412, 413, 415, 428, 431]),
    );

    expect((await fetch(`${bench.url}/readyz`)).status).toBe(200);
    const { task_id } = await bench.post('/v1/tasks', { payload: { n: 1 }, queue: 'after' });
    const { leases } = await bench.post('/v1/tasks/lease', { worker_id: 'w', queues: ['after'] });
    expect(await bench.post(`/v1/tasks/${task_id}/complete`, { lease_id: leases[0].lease_id })).toMatchObject(
      { outcome: 'COMMITTED' },
    );
    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ status: 0, stderr: '' });
    const verified = await bench.run(['wal', 'verify', join(bench.dir, 'data')]);
    expect(verified, verified.stderr).toMatchObject({ status: 0 });
  });

  it('that must be refused leave no trace in the log', { timeout: LONG_MS }, async () => {
    const requests = new FuzzRequests(SEED);
    const { seq } = await bench.get('/v1/status');
    await drive(
      Math.floor(REQUESTS * 0.2),
      () => requests.refused(),
      (answer, request) => {
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expectDecent(answer, request);
      },
    );
    expect((await bench.get('/v1/status')).seq).toBe(seq);
    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ status: 0, stderr: '' });
  });
});
