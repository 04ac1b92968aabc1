// `leasehold bench` as a process: on a server of its own, or on one that is named, and nothing is left of it.
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CliBench } from '../support/cli-processes.ts';

let bench: CliBench;
let dir: string;

beforeAll(async () => {
  bench = new CliBench();
  await bench.serve();
  dir = mkdtempSync(join(bench.dir, 'measured-'));
});
afterAll(() => bench.close());

const ROWS = [
  { what: 'a task: create, lease, complete', in_flight: 1 },
  { what: 'a task: create, lease, complete', in_flight: 8 },
  { what: 'a named lease: acquire, release', in_flight: 1 },
  { what: 'a named lease: acquire, release', in_flight: 8 },
];
const SHORT = ['--for', '50ms', '--in-flight', '1', '8', '--json'];

/** What it printed, each row with figures that can be true. */
function rowsOf(stdout: string): unknown[] {
  const rows = stdout.trim().split('\n');
  return rows.map((line) => {
    const { what, in_flight, per_second, p50_ms, p99_ms } = JSON.parse(line);
    expect(per_second).toBeGreaterThan(0);
    expect(p50_ms).toBeGreaterThan(0);
    expect(p99_ms).toBeGreaterThanOrEqual(p50_ms);
    return { what, in_flight };
  });
}

describe('leasehold bench', () => {
  it('measures a server of its own, whatever the environment names, and removes what it made', async () => {
    const { seq } = JSON.parse((await bench.run(['status', '--json'])).stdout);
    const run = await bench.run(['bench', '--dir', dir, ...SHORT]);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(rowsOf(run.stdout)).toEqual(ROWS);
    expect(readdirSync(dir)).toEqual([]);
    expect(JSON.parse((await bench.run(['status', '--json'])).stdout)).toMatchObject({ seq });
  });

  it('measures the server that is named, and leaves nothing there that waits or is held', async () => {
    const run = await bench.run(['bench', '--server', bench.url, ...SHORT]);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(rowsOf(run.stdout)).toEqual(ROWS);
    const { counts } = JSON.parse((await bench.run(['status', '--json'])).stdout);
    expect(counts).toMatchObject({ tasks: { WAITING: 0, LEASED: 0 }, leases: 0 });
  });

  it('ends when it is asked to, and removes what it made', async () => {
    const running = bench.start(['bench', '--dir', dir, '--for', '200ms', '--in-flight', ...'1'.repeat(50)]);
    await running.says(/a task: .*\n/);
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ status: 130, stderr: '' });
    expect(readdirSync(dir)).toEqual([]);
  });

  it('says so when no directory can be created where it is told to', async () => {
    const run = await bench.run(['bench', '--dir', join(dir, 'nowhere')]);
    expect(run).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/No directory can be created in /),
    });
  });

  it('counts nothing that was not done', async () => {
    for (const caller of [0, 1]) await bench.run(['queue', 'pause', `leasehold-bench:${caller}`]);
    const run = await bench.run(['bench', '--server', bench.url, '--in-flight', '2', '--for', '50ms']);
    expect(run).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/is it paused\?/) });
  });
});
