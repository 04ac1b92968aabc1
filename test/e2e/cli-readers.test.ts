// Those at the other end of a pipe or a connection may go, and a command does what its user would want then.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliBench, until } from '../support/cli-processes.ts';

let bench: CliBench;

beforeEach(() => {
  bench = new CliBench();
});

afterEach(() => bench.close());

describe('the reader of the output goes', () => {
  it('and a worker hands back what it cannot finish, as when it is asked to end', async () => {
    await bench.serve();
    const tasks = ['one', 'two', 'three'];
    for (const task_id of tasks) await bench.post('/v1/tasks', { task_id, payload: 1, queue: 'q' });
    const worker = bench.start(['work', 'q', '--json', '--', 'sh', '-c', 'sleep 0.2; cat']);
    await worker.says(/"task_id":"one"/);
    worker.unread('stdout');
    expect(await worker.ended).toMatchObject({ status: 0 });
    for (const task_id of tasks) expect((await bench.get(`/v1/tasks/${task_id}`)).state).not.toBe('LEASED');
  });

  it('and a server and its orchestrator serve on', async () => {
    const data = join(bench.dir, 'data');
    const up = bench.start(['up', '--data', data, '--listen', '127.0.0.1:0', '--json']);
    bench.url = (await up.says(/"url":"([^"]+)"/))[1]!;
    await up.says(/taking intents/);
    up.unread('stderr');
    up.unread('stdout');
    for (const serviceRef of ['one', 'two']) {
      const intent = { type: 'live', serviceRef, profileID: 'demo' };
      const { session_id: id } = await bench.post('/api/v3/intents', intent);
      const state = async () => (await bench.get(`/api/v3/sessions/${id}`)).state;
      await until(`${id} to be ready`, async () => (await state()) === 'READY');
    }
    up.kill('SIGTERM');
    expect(await up.ended).toMatchObject({ status: 0 });
  });
});

describe('a server that goes away', () => {
  it('and comes back is followed on, every entry once', async () => {
    await bench.serve();
    const tail = bench.start(['log', 'tail', '-f', '--from', '1', '--retry-for', '1s']);
    await tail.says(/EpochStarted.*epoch=1/);
    await bench.stopServer('SIGKILL');
    await tail.says(/does not answer; continuing when it does/);
    await bench.serve();
    await tail.says(/EpochStarted.*epoch=2/);
    tail.kill('SIGINT');
    const { status, stdout } = await tail.ended;
    expect(status).toBe(0);
    expect(stdout.match(/EpochStarted/g)).toHaveLength(2);
  });
});
