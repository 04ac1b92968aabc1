// `leasehold orchestrate` with real processes: what a session sees of it from the intent to the end, and how it leaves.
// What faults of every kind do to it is in `sessions-*.test.ts`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Body, until } from '../support/cli-processes.ts';
import { SessionBench, timed } from '../support/session-bench.ts';

let bench: SessionBench;

afterEach(() => bench.close());

describe('an orchestrator', () => {
  it('runs a session, writes down what it says, stops it when it is asked to, and leaves with 0 on SIGINT', async () => {
    bench = await SessionBench.open();
    const orchestrator = await bench.orchestrate();
    const { sessionId, slot, leaseSeq } = await bench.ready('news', 'slow');
    expect((await bench.session(sessionId)).body).toMatchObject({
      state: 'READY',
      slot,
      lease_seq: leaseSeq,
    });
    const log = join(bench.dir, 'output', `${sessionId}.log`);
    // The file is there before what is written to it.
    await until('the output of the pipeline', () => existsSync(log) && readFileSync(log, 'utf8') !== '');
    expect(readFileSync(log, 'utf8')).toBe('ready\n');

    expect((await bench.stop(sessionId)).status).toBe(202);
    await bench.reaches(sessionId, 'STOPPED');
    expect(await bench.statesOf(sessionId)).toEqual(['STARTING', 'READY', 'STOPPING', 'STOPPED']);

    const second = await bench.ready('sport');
    orchestrator.kill('SIGINT');
    expect(await orchestrator.ended).toMatchObject({ status: 0 });
    expect(await bench.reaches(second.sessionId, 'STOPPED')).toMatchObject({ reason: 'R_SHUTDOWN' });
    await bench.finish();
  });

  it('leaves at once on a second signal, and its pipelines end all the same', async () => {
    bench = await SessionBench.open();
    const orchestrator = await bench.orchestrate({ times: { grace: '20s', 'lease-ttl': '90s' } });
    await bench.ready('news', 'stubborn');
    orchestrator.kill('SIGTERM');
    await orchestrator.says(/stopping/);
    orchestrator.kill('SIGINT');
    expect((await orchestrator.ended).status).toBe(130);
    await until('the end of the pipeline', () => bench.alive.length === 0);
  });

  it('leaves with 0 when the server does not answer, once the guard has had its two seconds to be given back', async () => {
    bench = await SessionBench.open();
    // No renewal is due meanwhile: one that is not answered would end it with 4.
    const orchestrator = await bench.orchestrate({ times: { 'guard-ttl': '60s', heartbeat: '20s' } });
    bench.signalServer('SIGSTOP');
    orchestrator.kill('SIGTERM');
    const { status, tookMs } = await timed(orchestrator);
    bench.signalServer('SIGCONT');
    expect(status).toBe(0);
    expect(tookMs).toBeLessThan(6_000);
  });

  it('tells programs what it does, one JSON object a line', async () => {
    bench = await SessionBench.open();
    const orchestrator = bench.start(['orchestrate', '--json', '--log-dir', join(bench.dir, 'logs')]);
    await orchestrator.says(/taking intents/);
    orchestrator.kill('SIGTERM');
    const { status, stderr } = await orchestrator.ended;
    expect(status).toBe(0);
    const events = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toContainEqual(expect.objectContaining({ level: 'info', event: 'the guard is held' }));
  });
});

describe('an orchestrator that must end', () => {
  it('says so in one JSON object with --json, like everything before it', async () => {
    bench = await SessionBench.open();
    await bench.orchestrate();
    const { status, stderr } = await bench.run([
      'orchestrate',
      '--json',
      '--log-dir',
      join(bench.dir, 'logs'),
    ]);
    expect(status).toBe(3);
    const said = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(said.at(-1)).toEqual({
      code: 'NOT_STARTED',
      message: expect.stringMatching(/^FATAL: .*; nothing was started\.$/),
      exit_code: 3,
    });
  });
});

describe('wrong usage', () => {
  it('leaves with 2 and touches nothing', async () => {
    bench = await SessionBench.open();
    const file = join(bench.dir, 'bad.json');
    const wrong: [string[], RegExp][] = [
      [['--guard-ttl', '14s'], /three heartbeats/],
      [['--lease-ttl', '14s'], /three heartbeats/],
      [['--heartbeat', 'often'], /duration/],
      [['--config', join(bench.dir, 'nowhere.json')], /nowhere\.json cannot be read/],
      [['--log-dir', file], /bad\.json \(--log-dir\)/],
      [['--config', file], /bad\.json: .*color is unknown/],
    ];
    writeFileSync(file, JSON.stringify({ slots: ['0'], profiles: {}, color: 'red' }));
    const seq = await bench.seq();
    for (const [flags, says] of wrong) {
      const run = await bench.run(['orchestrate', ...flags]);
      expect(run).toMatchObject({ status: 2, stderr: expect.stringMatching(says) });
    }
    expect(await bench.seq()).toBe(seq);
  });
});

describe('an orchestrator whose token has not got the scope *', () => {
  const TOKENS = [
    { token: 'may-do-everything-0123', scopes: ['*'], name: 'operator' },
    { token: 'may-not-lease-starts-0', scopes: ['v1:admin', 'v3:admin'], name: 'tuner-host' },
  ];
  const [all, some] = TOKENS.map(({ token }) => token);
  const headers = { authorization: `Bearer ${all}`, 'content-type': 'application/json' };

  it('leaves with 3 and names it, before anything is touched', async () => {
    bench = await SessionBench.open({ env: { LEASEHOLD_TOKENS: JSON.stringify(TOKENS) } });
    const body = JSON.stringify({ holder: 'zombie', ttl_ms: 60_000 });
    const acquired = await fetch(`${bench.url}/v1/leases/lease:service:a/acquire`, {
      method: 'POST',
      headers,
      body,
    });
    expect(acquired.status).toBe(200);
    const seq = async () => ((await (await fetch(`${bench.url}/v1/status`, { headers })).json()) as Body).seq;
    const before = await seq();
    const run = await bench.run(['orchestrate', '--token', some!, '--log-dir', join(bench.dir, 'logs')]);
    expect(run).toMatchObject({ status: 3, stderr: expect.stringMatching(/FATAL: .*tuner-host.*scope \*/) });
    expect(await seq()).toBe(before);
  });
});
