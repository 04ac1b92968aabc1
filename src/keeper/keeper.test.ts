// The keeper, with programs that are only numbers and a clock that is moved by hand.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { momentOf } from '../seams/deadline.ts';
import type { Ended, Pipes, SignalName, StartOptions } from '../seams/processes.ts';
import { type FromKeeper, Keeper, type KeptOutput, type Limits } from './keeper.ts';

/** Groups that live until a signal they heed, or the test, ends them. */
class Groups {
  readonly sent: [pid: number, signal: string][] = [];
  readonly alive = new Map<number, (end: Ended) => void>();
  /** Programs that ignore everything that can be ignored. */
  isStubborn = false;
  isMissing = false;
  /** Of the program that was started last. */
  pipes: Pipes | null = null;
  private next = 100;

  readonly processes = {
    start: async (_command: readonly string[], { pipes }: StartOptions) => {
      this.pipes = pipes;
      if (this.isMissing) throw Object.assign(new Error('no such program'), { code: 'ENOENT' });
      const pid = this.next++;
      const ended = new Promise<Ended>((resolve) => this.alive.set(pid, resolve));
      return { pid, startTime: `${pid}0`, ended };
    },
    signalGroup: (pid: number, signal: SignalName | 0) => {
      const isThere = this.alive.has(pid);
      if (isThere && signal !== 0) {
        this.sent.push([pid, signal]);
        if (signal === 'SIGKILL' || !this.isStubborn) this.end(pid, { code: null, signal });
      }
      return isThere;
    },
  };

  end(pid: number, end: Ended): void {
    this.alive.get(pid)?.(end);
    this.alive.delete(pid);
  }
}

let world: ManualWorld;
let groups: Groups;
let said: FromKeeper[];
let keeper: Keeper;
let removed: string[];
let written: Map<string, string>;
let isDiskHanging: boolean;

beforeEach(() => {
  world = new ManualWorld();
  groups = new Groups();
  said = [];
  const { clock, timers } = world;
  removed = [];
  written = new Map();
  isDiskHanging = false;
  const files = {
    remove: async (path: string) => {
      removed.push(path);
    },
    append: async (path: string, bytes: Uint8Array) => {
      if (isDiskHanging) await new Promise(() => undefined);
      written.set(path, (written.get(path) ?? '') + Buffer.from(bytes).toString());
    },
    rename: async (from: string, to: string) => {
      written.set(to, written.get(from)!);
      written.delete(from);
    },
  };
  keeper = new Keeper({ clock, timers, processes: groups.processes, files }, (message) => said.push(message));
});

/** From now: SIGTERM and SIGKILL at the latest. */
function limits(terminateMs: number, killMs: number, graceMs = 500): Limits {
  const { monotonicMs, wallMs } = momentOf(world.clock);
  const later = (ms: number) => ({ monotonicMs: monotonicMs + ms, wallMs: wallMs + ms });
  return { terminateBy: later(terminateMs), killBy: later(killMs), graceMs };
}

const start = (within: Limits, output: KeptOutput | null = null): void =>
  keeper.receive({
    do: 'start',
    id: 'it',
    command: ['program'],
    env: {},
    limits: within,
    scratch: '/secret',
    output,
  });

describe('a program the keeper started', () => {
  it('that was told to stop is killed after its grace, though the monotonic clock stood still in sleep', async () => {
    groups.isStubborn = true;
    start(limits(60_000, 120_000));
    await world.settle();
    keeper.receive({ do: 'stop', id: 'it' });
    world.setWall(world.wallMs + 500);
    await world.advance(100);
    expect(groups.sent).toEqual([
      [100, 'SIGTERM'],
      [100, 'SIGKILL'],
    ]);
  });

  it('is left alone while its limits are moved on in time', async () => {
    start(limits(1_000, 2_000));
    for (let round = 0; round < 5; round++) {
      await world.advance(900);
      keeper.receive({ do: 'limit', id: 'it', limits: limits(1_000, 2_000) });
    }
    expect(groups.sent).toEqual([]);
    groups.end(100, { code: 7, signal: null });
    await world.settle();
    expect(said).toEqual([
      { is: 'started', id: 'it', pid: 100, startTime: '1000' },
      { is: 'ended', id: 'it', end: { code: 7, signal: null }, isStopped: false },
    ]);
    expect(world.holds).toBe(0);
    expect(removed).toEqual([]);
  });

  it('is asked to end at the first limit, and killed at the second', async () => {
    groups.isStubborn = true;
    start(limits(1_000, 1_300));
    await world.advance(999);
    expect(groups.sent).toEqual([]);
    await world.advance(1);
    expect(groups.sent).toEqual([[100, 'SIGTERM']]);
    await world.advance(299);
    expect(groups.sent).toHaveLength(1);
    await world.advance(1);
    expect(groups.sent).toEqual([
      [100, 'SIGTERM'],
      [100, 'SIGKILL'],
    ]);
    await world.settle();
    expect(said.at(-1)).toMatchObject({ is: 'ended', isStopped: true });
  });

  it('has all the time between the two limits, also when its grace is shorter', async () => {
    groups.isStubborn = true;
    start(limits(1_000, 1_300, 100));
    await world.advance(1_299);
    expect(groups.sent).toEqual([[100, 'SIGTERM']]);
    await world.advance(1);
    expect(groups.sent.at(-1)).toEqual([100, 'SIGKILL']);
  });

  it('is ended as soon as the wall clock says so, though the monotonic one stood still', async () => {
    start(limits(10_000, 20_000));
    await world.advance(1_000);
    world.setWall(world.wallMs + 60_000);
    await world.advance(100);
    expect(groups.sent).toEqual([[100, 'SIGTERM']]);
  });

  it('is stopped when the lease holder is gone, and killed one grace later', async () => {
    groups.isStubborn = true;
    start(limits(10_000, 20_000, 500));
    await world.settle();
    keeper.abandon();
    expect(groups.sent).toEqual([[100, 'SIGTERM']]);
    await world.advance(499);
    expect(groups.sent).toHaveLength(1);
    await world.advance(1);
    expect(groups.sent.at(-1)).toEqual([100, 'SIGKILL']);
    await world.settle();
    expect(world.holds).toBe(0);
    expect(removed).toEqual(['/secret']);
  });

  it.each([
    ['', 0],
    [', though the wall clock was set back', -60_000],
    [', though the wall clock was set forward', 50],
  ])('never gets a grace that lasts longer than the lease%s', async (_, byMs) => {
    groups.isStubborn = true;
    start(limits(10_000, 10_100, 5_000));
    await world.advance(9_900);
    world.setWall(world.wallMs + byMs);
    keeper.receive({ do: 'stop', id: 'it' });
    await world.advance(200);
    expect(groups.sent).toEqual([
      [100, 'SIGTERM'],
      [100, 'SIGKILL'],
    ]);
  });

  it('stays stopped, whatever limits come later', async () => {
    groups.isStubborn = true;
    start(limits(1_000, 1_300));
    await world.advance(1_000);
    keeper.receive({ do: 'limit', id: 'it', limits: limits(60_000, 60_000) });
    await world.advance(300);
    expect(groups.sent.at(-1)).toEqual([100, 'SIGKILL']);
  });

  it('gets the signals that are passed on', async () => {
    groups.isStubborn = true;
    start(limits(10_000, 20_000));
    await world.settle();
    keeper.receive({ do: 'signal', id: 'it', signal: 'SIGHUP' });
    expect(groups.sent).toEqual([[100, 'SIGHUP']]);
    groups.end(100, { code: null, signal: 'SIGHUP' });
    await world.settle();
    expect(said.at(-1)).toMatchObject({ is: 'ended', isStopped: false });
  });

  it('gets what was passed on while it was starting as soon as it runs', async () => {
    start(limits(10_000, 20_000));
    keeper.receive({ do: 'signal', id: 'it', signal: 'SIGTERM' });
    await world.settle();
    expect(groups.sent).toEqual([[100, 'SIGTERM']]);
    expect(said.at(-1)).toMatchObject({ is: 'ended', isStopped: false });
  });

  it('is not even begun when it is too late', async () => {
    start(limits(0, 100));
    await world.settle();
    expect(groups.alive.size).toBe(0);
    expect(said).toEqual([
      { is: 'ended', id: 'it', end: { code: null, signal: 'SIGTERM' }, isStopped: true },
    ]);
  });

  it('that does not exist is told by its fault', async () => {
    groups.isMissing = true;
    start(limits(1_000, 2_000));
    await world.settle();
    expect(said).toEqual([{ is: 'not-started', id: 'it', code: 'ENOENT', message: 'no such program' }]);
    expect(world.holds).toBe(0);
  });

  it('that was still starting when its holder went is ended all the same', async () => {
    start(limits(10_000, 20_000));
    keeper.abandon();
    await world.settle();
    expect(groups.sent).toEqual([[100, 'SIGTERM']]);
  });

  it('is not begun for a holder that is gone already', async () => {
    keeper.abandon();
    start(limits(10_000, 20_000));
    await world.settle();
    expect(groups.alive.size).toBe(0);
    expect(said).toMatchObject([{ is: 'ended', isStopped: true }]);
    expect(world.holds).toBe(0);
  });
});

describe('the output of a program', () => {
  const OUTPUT = { file: '/logs/it.log', bytesMax: 100, ready: '^on air' };
  const bytes = (text: string): Uint8Array => Buffer.from(text);

  it('goes to its file, and a line that fits is told once', async () => {
    start(limits(1_000, 2_000), OUTPUT);
    await world.settle();
    groups.pipes!.output(bytes('tuning\non a'));
    expect(said).toHaveLength(1);
    groups.pipes!.errors(bytes('on air?\n'));
    groups.pipes!.output(bytes('ir\non air\n'));
    expect(said.slice(1)).toEqual([{ is: 'ready', id: 'it' }]);
    groups.end(100, { code: 0, signal: null });
    await world.settle();
    expect(written.get('/logs/it.log')).toBe('tuning\non aon air?\nir\non air\n');
  });

  it('does not wait for a hanging disk: its end is reported a second later', async () => {
    isDiskHanging = true;
    start(limits(60_000, 60_000), OUTPUT);
    await world.settle();
    groups.pipes!.output(bytes('tuning\n'));
    groups.end(100, { code: 0, signal: null });
    await world.advance(999);
    expect(said).toHaveLength(1);
    await world.advance(1);
    expect(said.at(-1)).toMatchObject({ is: 'ended', end: { code: 0 } });
    expect(world.holds).toBe(0);
  });

  it('is that of the keeper itself when no file is given', async () => {
    start(limits(1_000, 2_000));
    await world.settle();
    expect(groups.pipes).toBeNull();
  });
});

describe('a stop', () => {
  it('may bring a grace of its own, and a second one can only shorten it', async () => {
    groups.isStubborn = true;
    start(limits(10_000, 20_000, 500));
    await world.settle();
    keeper.receive({ do: 'stop', id: 'it', graceMs: 3_000 });
    await world.advance(1_000);
    keeper.receive({ do: 'stop', id: 'it', graceMs: 200 });
    keeper.receive({ do: 'stop', id: 'it', graceMs: 9_000 });
    await world.advance(199);
    expect(groups.sent).toEqual([[100, 'SIGTERM']]);
    await world.advance(1);
    expect(groups.sent.at(-1)).toEqual([100, 'SIGKILL']);
  });
});

describe('programs the keeper watches', () => {
  beforeEach(() => {
    for (const pid of [7, 8]) {
      groups.alive.set(pid, () => undefined);
      keeper.receive({ do: 'watch', id: String(pid), pid, limits: limits(1_000, 1_500) });
    }
  });

  it('are each ended at their own limits', async () => {
    keeper.receive({ do: 'limit', id: '8', limits: limits(5_000, 6_000) });
    await world.advance(1_000);
    expect(groups.sent).toEqual([[7, 'SIGTERM']]);
  });

  it('are forgotten when they have ended', async () => {
    groups.end(7, { code: 0, signal: null });
    groups.end(8, { code: 0, signal: null });
    keeper.receive({ do: 'forget', id: '7' });
    keeper.receive({ do: 'forget', id: '8' });
    expect(world.holds).toBe(0);
  });

  it('are all ended when the worker is gone, and then so is the keeper', async () => {
    keeper.abandon();
    await world.advance(100);
    expect(groups.sent).toEqual([
      [7, 'SIGTERM'],
      [8, 'SIGTERM'],
    ]);
    expect(world.holds).toBe(0);
  });

  it('do not keep the keeper for ever when they are never reaped', async () => {
    const { signalGroup } = groups.processes;
    groups.processes.signalGroup = (pid, signal) => signalGroup(pid, signal) || true;
    keeper.abandon();
    await world.advance(10_000);
    expect(world.holds).toBe(0);
  });
});
