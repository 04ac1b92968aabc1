// Every example runs as a reader would run it: a process of its own on the built package, judged by what it prints and by
// its exit code.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { filled, readConfig } from '../../src/sessions/config.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const examples = join(root, 'examples');

let scratch = '';

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'leasehold-examples-'));
});

afterEach(() => rmSync(scratch, { recursive: true }));

interface Ended {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly complaint: string;
}

/** Starts an example in the scratch directory; `spoke` resolves once it has printed something. */
function start(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const { LEASEHOLD_DATA: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [join(examples, name), ...args], {
    cwd: scratch,
    env: { ...inherited, TMPDIR: scratch, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaint += chunk;
  });
  const spoke = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      resolve();
    });
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, complaint, lines: output.trimEnd().split('\n') }));
  });
  return { child, spoke, ended };
}

/** Runs an example to its end, which must be a good one. */
async function linesOf(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const { code, complaint, lines } = await start(name, args, env).ended;
  expect({ code, complaint }).toEqual({ code: 0, complaint: '' });
  return lines;
}

describe('the examples', () => {
  it('are all run here', () => {
    expect(readdirSync(examples).sort()).toEqual([
      'README.md',
      // In test/e2e/example-apps.test.ts, like nestjs.
      'express',
      'fenced-write.mjs',
      'gpu-slots.mjs',
      'hello-task.mjs',
      'nestjs',
      'nightly-job.mjs',
      // In test/postgres/outbox-example.test.ts.
      'outbox.mjs',
      'paused-process.mjs',
      'per-customer-limits.mjs',
      'single-runner.mjs',
      'sketch.mjs',
      // Started by the others.
      'start-server.mjs',
      'tour.mjs',
      'tuner-farm',
      'with-lease.mjs',
      'worker-pool.mjs',
      'worker.mjs',
    ]);
    const listed = [...readFileSync(join(examples, 'README.md'), 'utf8').matchAll(/^\| \[(\S+)\]/gm)];
    expect(listed.map(([, name]) => name).toSorted()).toEqual(
      readdirSync(examples).filter((name) => !['README.md', 'start-server.mjs'].includes(name)),
    );
    expect(readdirSync(join(examples, 'tuner-farm')).sort()).toEqual([
      'README.md',
      'farm.mjs',
      'tuners.json',
    ]);
  });

  it.each([
    'fenced-write.mjs',
    'hello-task.mjs',
    'nightly-job.mjs',
    'per-customer-limits.mjs',
    'single-runner.mjs',
    'sketch.mjs',
    'with-lease.mjs',
    'worker.mjs',
  ])('%s leaves the directory it is run from alone, and can be run again on its own data', async (name) => {
    const data = join(scratch, 'data');
    await linesOf(name, [data]);
    await linesOf(name, [data]);
    expect(readdirSync(scratch)).toEqual(['data']);
  });
});

describe('hello-task.mjs', () => {
  it('gives a task to a second worker when the lease of the first has run out, and tells the first', async () => {
    const lines = await linesOf('hello-task.mjs');
    expect(lines).toContain('completed  by quick-worker: COMMITTED');
    expect(lines).toContain('completed  by slow-worker: CANCELLED');
    expect(lines).toContain(
      'the task   is COMPLETED, and its result is "Hello, Ada, from the quick-worker!"',
    );
    expect(lines.at(-1)).toBe(
      'its story  TaskCreated, LeaseGranted, LeaseExpired, LeaseGranted, TaskCompleted, TaskCancelled',
    );
  });
});

describe('fenced-write.mjs', () => {
  it('refuses the write of a deposed holder and remembers the refused write with both numbers', async () => {
    const lines = await linesOf('fenced-write.mjs');
    const [first, second] = lines.flatMap((line) => /holds it\s+with number (\d+)/.exec(line)?.[1] ?? []);
    expect(Number(second)).toBeGreaterThan(Number(first));
    expect(lines).toContain('without a lease   WRITE_UNFENCED: The write carries no lease.');
    expect(lines).toContain(
      `refused write     WRITE_STALE_FENCE: presented ${first}, the fence is ${second}`,
    );
    expect(lines.at(-1)).toBe('the object is     {"colour":"blue"}, version 2');
  });
});

describe('single-runner.mjs', () => {
  it('lets one runner work at a time, and the other take over', async () => {
    const lines = await linesOf('single-runner.mjs');
    const acts = lines.flatMap((line) => /^(runner-\d) (has the lease|works|is done)/.exec(line)?.[0] ?? []);
    expect(acts).toEqual([
      'runner-1 has the lease',
      'runner-1 works',
      'runner-1 is done',
      'runner-2 has the lease',
      'runner-2 works',
      'runner-2 is done',
    ]);
    expect(lines.filter((line) => line.endsWith('runners at work: 1'))).toHaveLength(2);
  });
});

describe('sketch.mjs', () => {
  it('refuses a stale write and replays its log to the same state', async () => {
    const lines = await linesOf('sketch.mjs');
    expect(lines.join('\n')).toMatch(/anna writes, too late +\{"refused":"WRITE_STALE_FENCE"\}/);
    expect(lines.join('\n')).toMatch(/the object +"blue"/);
    expect(lines.at(-1)).toMatch(/^replay gives the same state +true$/);
  });
});

describe('with-lease.mjs', () => {
  it('lets one work at a time for longer than a lease lasts, and tells the one whose lease was broken', async () => {
    const lines = await linesOf('with-lease.mjs');
    expect(lines.map((line) => line.replace(/\d+$/, 'N'))).toEqual([
      'anna holds it      with number N',
      'anna has written   as the holder of N',
      'boris holds it     with number N',
      'boris has written  as the holder of N',
      'carla is refused   LEASE_HELD',
      'dora holds it      with number N',
      'dora has lost it   LEASE_LOST, broken',
      'the object is      {"by":"boris"}',
    ]);
    expect(readdirSync(scratch)).toEqual([]);
  });
});

describe('worker.mjs', () => {
  it('completes, retries and fails tasks, refuses what does not fit, and drains', async () => {
    expect(await linesOf('worker.mjs')).toEqual([
      '3 squared   {"square":9,"attempt":1}',
      '7 squared   {"square":49,"attempt":3}',
      '13 squared   FAILED: not that number',
      'refused      INVALID_TASK, effect none: The input of task square does not fit its schema: is not an integer',
      'the worker   leased 5, completed 2, failed 3',
    ]);
    expect(readdirSync(scratch)).toEqual([]);
  });
});

describe('nightly-job.mjs', () => {
  it('runs a job once, however many hosts are ready for it', async () => {
    const lines = await linesOf('nightly-job.mjs');
    expect(lines[0]).toMatch(/ 03:00 in Berlin: the next time is \d{4}-\d\d-\d\dT0[12]:00:00\.000Z\.$/);
    expect(lines.at(-1)).toBe('It ran once: 12 pages.');
  });
});

describe('per-customer-limits.mjs', () => {
  it('runs one task of each customer at a time, and lets customers take turns', async () => {
    expect((await linesOf('per-customer-limits.mjs')).slice(1)).toEqual([
      'The first three to run: ada, grace, linus. Customers take turns.',
      'At most 3 ran at once, and never two of one customer: each has a limit of 1.',
      '12 completed, 0 failed.',
    ]);
  });
});

describe('worker-pool.mjs', () => {
  it('gives the task of a worker that was killed to another one, and drains the rest', async () => {
    const lines = await linesOf('worker-pool.mjs');
    expect(lines[2]).toMatch(/^Worker [23] got image \d+ after that, as attempt 2\.$/);
    expect(lines.slice(3)).toEqual([
      'All 12 images are done; 1 needed a second attempt.',
      'The other two are asked to end. They drain and leave with 0 and 0.',
    ]);
    expect(readdirSync(scratch)).toEqual([]);
  });
});

describe('paused-process.mjs', () => {
  it('refuses the late write of a process that was paused', async () => {
    expect((await linesOf('paused-process.mjs')).slice(-3)).toEqual([
      'Anna wakes up and asks whether she holds it: LEASE_LOST.',
      'She writes all the same, with her old number: WRITE_STALE_FENCE.',
      'The balance is 250.',
    ]);
    expect(readdirSync(scratch)).toEqual([]);
  });
});

describe('gpu-slots.mjs', () => {
  it('shares two slots among three programs, and leaves nothing behind', async () => {
    expect((await linesOf('gpu-slots.mjs')).slice(1)).toEqual([
      'model-a trains on gpu-0.',
      'model-b trains on gpu-1.',
      'model-a is asked for once more: it is the same session.',
      'model-c is asked for: FAILED, R_NO_TUNER. That is the code for no free slot, here a GPU.',
      'Slots in use, by /metrics: 2.',
      'model-a is stopped: STOPPED, R_CLIENT_STOP. Its program has ended before the slot is free.',
      'model-c is asked for again and trains on gpu-0.',
      'All is shut down: the programs are ended, the exit code is 0.',
    ]);
    expect(readdirSync(scratch)).toEqual([]);
  });
});

describe('tour.mjs', () => {
  it('shows a task, a refused holder, an expiry and a stale write, and says what to do next', async () => {
    const lines = await linesOf('tour.mjs');
    const tour = lines.join('\n');
    expect(tour).toMatch(/worker-1 completes it: COMMITTED, the task is COMPLETED/);
    expect(tour).toMatch(/boris is refused: LEASE_HELD, anna has it/);
    expect(tour).toMatch(/boris waited until anna's lease ran out/);
    expect(tour).toMatch(/anna wakes up and writes: WRITE_STALE_FENCE, hers is \d+ and the fence is \d+/);
    expect(tour).toMatch(/the object still says "by boris"/);
    expect(tour).toContain('npx leasehold wal stat ./leasehold-tour');
    expect(lines.length).toBeLessThanOrEqual(16);
    expect(readdirSync(scratch)).toEqual(['leasehold-tour']);
  });

  it('runs again on the same directory, where the log continues', async () => {
    const dir = join(scratch, 'mine');
    const seqOf = (lines: readonly string[]) => Number(/log is at seq (\d+)/.exec(lines.join('\n'))?.[1]);
    const first = seqOf(await linesOf('tour.mjs', [dir]));
    const second = seqOf(await linesOf('tour.mjs', [dir]));
    expect(second).toBeGreaterThan(first);
    expect(readdirSync(scratch)).toEqual(['mine']);
  });

  it('says in one sentence that the directory is in use', async () => {
    const one = start('tour.mjs');
    await one.spoke;
    // It keeps the directory for as long as the other one needs to find that out, on a machine that is busy too.
    one.child.kill('SIGSTOP');
    const other = await start('tour.mjs').ended;
    one.child.kill('SIGCONT');
    expect(other.code).toBe(1);
    expect(other.complaint).toMatch(
      /^The data directory .* is in use by process \d+ on .*; stop that process first\.\n$/,
    );
    expect((await one.ended).code).toBe(0);
  });
});

describe('tuner-farm/farm.mjs', () => {
  /** Where there is no ffmpeg: only what the farm needs is on the path. */
  function pathWithoutFfmpeg(): string {
    const bin = join(scratch, 'bin');
    mkdirSync(bin);
    const { stdout } = spawnSync('sh', ['-c', 'command -v flock'], { encoding: 'utf8' });
    if (stdout.trim() !== '') symlinkSync(stdout.trim(), join(bin, 'flock'));
    return bin;
  }

  it('shares four tuners, says what cannot be had, and leaves nothing behind', async () => {
    const lines = await linesOf('tuner-farm/farm.mjs', [join(scratch, 'farm')], {
      PATH: pathWithoutFfmpeg(),
    });
    const told = lines.map((line) => line.replace(/number \d+$/, 'number N').replace(/ {2,}/, ': '));
    const tuners = told.slice(1, 5).flatMap((line) => /tuner (\d)/.exec(line)?.[1] ?? []);
    expect(tuners.toSorted()).toEqual(['0', '1', '2', '3']);
    expect(told.map((line) => line.replace(/tuner \d/, 'tuner T'))).toEqual([
      'the farm runs: there is no ffmpeg, so the profile demo',
      'ard: READY on tuner T, number N',
      'zdf: READY on tuner T, number N',
      'film-7 from 0 s: READY on tuner T, number N',
      'film-7 from 60 s: READY on tuner T, number N',
      'ard once more: the same session',
      'orf: FAILED R_NO_TUNER, REJECTED_NO_TUNER',
      'tuners in use: 4',
      'zdf is stopped: STOPPED, R_CLIENT_STOP',
      'orf: READY on tuner T, number N',
      'all are stopped: 0 leases are held, tuners in use: 0',
      'the farm is closed exit code 0',
    ]);
    expect(tuners[1]).toBe(/tuner (\d)/.exec(told[9]!)?.[1]);
    expect(readdirSync(scratch).sort()).toEqual(['bin', 'farm']);
  });

  it('says what went wrong when the farm does not come up', async () => {
    const broken = { PATH: pathWithoutFfmpeg(), LEASEHOLD_API_LEASES: 'perhaps' };
    const { code, complaint } = await start('tuner-farm/farm.mjs', [join(scratch, 'farm')], broken).ended;
    expect(code).toBe(1);
    const [, why = ''] = /^leasehold up has ended with 2:\n(.+)\n/.exec(complaint) ?? [];
    expect(JSON.parse(why).message).toMatch(/^LEASEHOLD_API_LEASES is "perhaps"/);
  });

  it('has a configuration whose pipelines the orchestrator takes', async () => {
    const config = readConfig(readFileSync(join(examples, 'tuner-farm', 'tuners.json'), 'utf8'));
    expect(config.slots).toHaveLength(4);
    const filling = { serviceRef: 'ard', recordingID: '', start_ms: '0', slot: '2', session_id: 's1' };
    for (const { command, ready } of Object.values(config.profiles)) {
      expect(filled(command, filling)).toEqual(
        expect.arrayContaining(['service_name=ard', expect.stringMatching(/name:s1$/)]),
      );
      // As ffmpeg reports its progress: not before there is a first segment.
      const isReady = (line: string) => new RegExp(ready!.stdout).test(line);
      const times = ['40000', '1999999', '2040000', '12040000'].map((us) => isReady(`out_time_us=${us}`));
      expect(times).toEqual([false, false, true, true]);
    }
  });
});
