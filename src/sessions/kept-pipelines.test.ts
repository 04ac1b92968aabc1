// Pipelines under their keepers, as far as the orchestrator's side of the channel goes.
import { beforeEach, describe, expect, it } from 'vitest';
import { LivingProcesses } from '../../test/support/living-processes.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { KeeperOptions, SignalName } from '../seams/processes.ts';
import { KeptPipelines } from './kept-pipelines.ts';
import type { PipelinePlan } from './pipelines.ts';

const NEVER = { monotonicMs: 1e12, wallMs: 1e15 };
const PLAN: PipelinePlan = {
  sessionId: 's00000000001',
  command: ['play'],
  env: { LEASEHOLD_SLOT: '0', LEASEHOLD_SESSION_ID: 's00000000001' },
  mark: { LEASEHOLD_SESSION_ID: 's00000000001' },
  ready: null,
  limits: { terminateBy: NEVER, killBy: NEVER, graceMs: 500 },
};

const STARTED = { is: 'started', id: 'pipeline', pid: 7, startTime: '700' };
const KILLED = { is: 'ended', code: null, signal: 'SIGKILL', isKept: false };

let world: ManualWorld;
let keeper: KeeperOptions;
let sent: object[];
let signals: [number, SignalName | 0][];
let happened: unknown[];
let names: string[];
let pipelines: KeptPipelines;
let processTable: LivingProcesses;
/** How often the group of the pipeline is still there when it is looked for. */
let lives: number;

beforeEach(() => {
  world = new ManualWorld();
  sent = [];
  signals = [];
  happened = [];
  names = [];
  lives = 0;
  processTable = new LivingProcesses();
  pipelines = new KeptPipelines(
    {
      clock: world.clock,
      timers: world.timers,
      processes: {
        startKeeper(options) {
          keeper = options;
          return {
            send: (message) => sent.push(message),
            close: () => happened.push('closed'),
            kill: () => happened.push('keeper killed'),
          };
        },
        signalGroup(pid, signal) {
          signals.push([pid, signal]);
          lives -= 1;
          return lives >= 0;
        },
      },
      processTable,
      files: {
        list: async () => names,
        remove: async (path) => {
          names = names.filter((name) => path !== `/logs/${name}`);
        },
      },
      env: {
        PATH: '/bin',
        LEASEHOLD_TOKEN: 'secret',
        LEASEHOLD_TOKENS: '[]',
        LEASEHOLD_ENGINE: 'postgres://leasehold:secret@localhost/leasehold',
        LEASEHOLD_IDEM_SECRET: 'secret',
        LEASEHOLD_IDEM_SECRET_PREVIOUS: 'older secret',
        XG2G_IDEM_SECRET: 'secret',
        XG2G_IDEM_SECRET_PREVIOUS: 'older secret',
      },
    },
    '/logs',
  );
});

function start(plan: Partial<PipelinePlan> = {}) {
  return pipelines.start(
    { ...PLAN, ...plan },
    {
      running: (pid) => happened.push(['running', pid]),
      ready: () => happened.push('ready'),
      ended: (end) => happened.push(end),
      warned: (says) => happened.push(says),
    },
  );
}

describe('a pipeline', () => {
  it('is started by a keeper of its own, with its log, and without the secrets of the orchestrator', () => {
    start({ ready: 'go' });
    expect(sent).toEqual([
      expect.objectContaining({
        do: 'start',
        command: ['play'],
        env: { PATH: '/bin', ...PLAN.env },
        output: { file: '/logs/s00000000001.log', bytesMax: 1024 * 1024, ready: 'go' },
      }),
    ]);
  });

  it('is ready once it runs, unless it has a word for it', () => {
    start();
    keeper.received(STARTED);
    expect(happened).toEqual([['running', 7], 'ready']);
    happened = [];
    start({ ready: 'go' });
    keeper.received({ is: 'started', id: 'pipeline', pid: 8 });
    expect(happened).toEqual([['running', 8]]);
    keeper.received({ is: 'ready', id: 'pipeline' });
    expect(happened.at(-1)).toBe('ready');
  });

  it('is told new limits, and to stop', () => {
    const pipeline = start();
    pipeline.limit(PLAN.limits);
    pipeline.stop(300);
    expect(sent.slice(1)).toEqual([
      { do: 'limit', id: 'pipeline', limits: PLAN.limits },
      { do: 'stop', id: 'pipeline', graceMs: 300 },
    ]);
  });

  it('tells whether it was its keeper that ended it', () => {
    start();
    keeper.received(STARTED);
    keeper.received({ is: 'ended', id: 'pipeline', end: { code: null, signal: 'SIGTERM' }, isStopped: true });
    expect(happened[2]).toEqual({ is: 'ended', code: null, signal: 'SIGTERM', isKept: true });
  });

  it('has ended once, and its keeper is let go', () => {
    start();
    keeper.received(STARTED);
    keeper.received({ is: 'ended', id: 'pipeline', end: { code: 1, signal: null }, isStopped: false });
    keeper.gone();
    expect(happened.slice(2)).toEqual([{ is: 'ended', code: 1, signal: null, isKept: false }, 'closed']);
    expect(signals).toEqual([]);
  });

  it('whose keeper dies is killed, and has ended when nothing of it is left', async () => {
    start();
    keeper.received(STARTED);
    processTable.start({ pid: 7, startTime: '700', survives: 2 });
    processTable.start({ pid: 8, env: PLAN.env });
    processTable.start({ pid: 9 });
    keeper.gone();
    expect(happened.at(-1)).toMatch(/keeper/);
    await world.advance(59);
    expect(processTable.killed).toEqual([7, 8, 7]);
    expect(happened).toHaveLength(3);
    await world.advance(100);
    expect(processTable.killed).toEqual([7, 8, 7, 7]);
    expect(processTable.pids).toEqual([9]);
    expect(happened.slice(-2)).toEqual([KILLED, 'closed']);
  });

  it('whose keeper dies before it has told the number of its program is killed by what it carries', async () => {
    start();
    processTable.start({ pid: 8, env: PLAN.env });
    keeper.gone();
    await world.advance(20);
    expect(processTable.pids).toEqual([]);
    expect(happened.slice(-2)).toEqual([expect.objectContaining({ is: 'not-started' }), 'closed']);
  });

  it('whose keeper dies is killed for a while where the system shows no processes', async () => {
    processTable.isBlind = true;
    start();
    keeper.received(STARTED);
    lives = 2;
    keeper.gone();
    await world.advance(40);
    expect(signals).toEqual(Array.from({ length: 3 }, () => [7, 'SIGKILL']));
    expect(happened.slice(-2)).toEqual([KILLED, 'closed']);
  });

  it('whose keeper does not answer a stop within the grace is killed together with the keeper', async () => {
    const pipeline = start();
    keeper.received(STARTED);
    processTable.start({ pid: 7, startTime: '700' });
    pipeline.stop(300);
    await world.advance(299);
    expect(happened).not.toContain('keeper killed');
    await world.advance(1);
    expect(happened).toContain('keeper killed');
    keeper.gone();
    await world.advance(20);
    expect(processTable.pids).toEqual([]);
    expect(happened.slice(-2)).toEqual([KILLED, 'closed']);
  });

  it('whose time is up before the grace is not given all of it', async () => {
    const pipeline = start();
    keeper.received(STARTED);
    const { monotonicMs, wallMs } = world;
    pipeline.limit({ ...PLAN.limits, killBy: { monotonicMs: monotonicMs + 200, wallMs: wallMs + 100 } });
    pipeline.stop(300);
    await world.advance(100);
    expect(happened).toContain('keeper killed');
  });

  it('whose keeper answers is killed all the same when the grace is over, and the keeper some time later', async () => {
    const pipeline = start();
    keeper.received(STARTED);
    processTable.start({ pid: 7, startTime: '700' });
    pipeline.stop(300);
    keeper.received({ is: 'stopping', id: 'pipeline' });
    await world.advance(299);
    expect(processTable.killed).toEqual([]);
    await world.advance(3_000);
    expect(processTable.killed).toEqual([7]);
    expect(happened).not.toContain('keeper killed');
    await world.advance(1);
    expect(happened).toContain('keeper killed');
  });

  it('whose keeper answers only the first of two stops is killed when the second is overdue', async () => {
    const pipeline = start();
    keeper.received(STARTED);
    pipeline.stop(5_000);
    keeper.received({ is: 'stopping', id: 'pipeline' });
    pipeline.stop(300);
    await world.advance(300);
    expect(happened).toContain('keeper killed');
  });

  it('that has ended in time leaves its keeper alone', async () => {
    const pipeline = start();
    keeper.received(STARTED);
    pipeline.stop(300);
    keeper.received({ is: 'ended', id: 'pipeline', end: { code: 0, signal: null }, isStopped: true });
    await world.advance(10_000);
    expect(happened).not.toContain('keeper killed');
  });

  it('has ended once, even if its keeper said so with its last breath', async () => {
    start();
    keeper.received(STARTED);
    processTable.start({ pid: 7, startTime: '700', survives: 2 });
    keeper.gone();
    keeper.received({ is: 'ended', id: 'pipeline', end: { code: 1, signal: null }, isStopped: false });
    await world.advance(2_000);
    expect(happened.slice(3)).toEqual([{ is: 'ended', code: 1, signal: null, isKept: false }, 'closed']);
  });
});

describe('the logs of old sessions', () => {
  const log = (index: number): string => `s${String(index).padStart(11, '0')}.log`;

  it('go when there are too many, the oldest first, and never one that is being written', async () => {
    names = [...Array.from({ length: 250 }, (_, index) => log(index + 1)), `${log(2)}.1`, 'notes.txt'];
    start();
    await world.settle();
    expect(names).toContain(log(1));
    expect(names).not.toContain(log(2));
    expect(names).not.toContain(`${log(2)}.1`);
    expect(names).toContain('notes.txt');
    expect(names.filter((name) => name.endsWith('.log'))).toHaveLength(201);
  });

  it('go as well when the session ran here and has ended', async () => {
    start();
    keeper.received({ is: 'ended', id: 'pipeline', end: { code: 0, signal: null }, isStopped: false });
    names = Array.from({ length: 250 }, (_, index) => log(index + 1));
    start({ sessionId: 's00000000250' });
    await world.settle();
    expect(names).toHaveLength(200);
    expect(names).not.toContain(log(1));
  });
});
