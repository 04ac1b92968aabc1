// What keeps the orchestrator of `up` running, with programs that are only numbers.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { Ended } from '../seams/processes.ts';
import { Supervisor } from './supervisor.ts';

let world: ManualWorld;
let starts: number[];
let signals: string[];
let end: (end: Ended) => void;
let isStubborn: boolean;
let startsFail: boolean;
let said: string[];
let isItsTurn: boolean;
let turnComes: () => void;
let supervisor: Supervisor;

beforeEach(async () => {
  world = new ManualWorld();
  starts = [];
  signals = [];
  said = [];
  isStubborn = false;
  startsFail = false;
  isItsTurn = true;
  supervisor = supervise();
  await world.settle();
});

function supervise(turn = false): Supervisor {
  return new Supervisor(
    {
      clock: world.clock,
      timers: world.timers,
      processes: {
        async start() {
          starts.push(world.monotonicMs);
          if (startsFail) throw Object.assign(new Error('no process left'), { code: 'EAGAIN' });
          const ended = new Promise<Ended>((resolve) => {
            end = resolve;
          });
          return { pid: starts.length, startTime: null, ended };
        },
        signalGroup(pid, signal) {
          signals.push(`${signal} ${pid}`);
          if (signal === 'SIGKILL' || !isStubborn) end({ code: null, signal: signal as 'SIGTERM' });
          return true;
        },
      },
      say: (line) => said.push(line),
    },
    {
      name: 'orchestrator',
      command: ['it'],
      env: {},
      endsWithinMs: 15_000,
      ...(turn ? { turn: { isHere: () => isItsTurn, comes } } : {}),
    },
  );
}

function comes(): Promise<void> {
  return new Promise((resolve) => {
    turnComes = () => {
      isItsTurn = true;
      resolve();
    };
  });
}

async function leaves(code: number): Promise<void> {
  end({ code, signal: null });
  await world.settle();
}

describe('a supervised program', () => {
  it('is started again after a pause that doubles up to five seconds', async () => {
    for (let time = 0; time < 8; time++) {
      await leaves(4);
      await world.advance(30_000);
    }
    const pauses = said.map((line) => /in (\d+) ms/.exec(line)![1]);
    expect(pauses).toEqual(['500', '1000', '2000', '4000', '5000', '5000', '5000', '5000']);
    expect(starts).toHaveLength(9);
    expect(said[0]).toBe('The orchestrator has ended (exit code 4); it is started again in 500 ms.');
  });

  it('that the system cannot start is tried again like one that ended', async () => {
    startsFail = true;
    await leaves(4);
    await world.advance(500);
    startsFail = false;
    await world.advance(1_000);
    expect(said[1]).toBe('The orchestrator could not be started (EAGAIN); it is started again in 1000 ms.');
    expect(starts).toHaveLength(3);
  });

  it('that ran well for a while is started again as if for the first time', async () => {
    for (const code of [3, 1, 4]) {
      await leaves(code);
      await world.advance(5_000);
    }
    await world.advance(60_000);
    await leaves(4);
    expect(said.at(-1)).toContain('in 500 ms');
  });

  it('that was called wrongly is not started again', async () => {
    await leaves(2);
    await world.advance(60_000);
    expect(starts).toHaveLength(1);
    expect(await supervisor.gaveUp).toBe(2);
  });

  it('is asked to end, and not started again', async () => {
    await world.finish(supervisor.stop());
    await world.advance(60_000);
    expect(signals).toEqual(['SIGTERM 1']);
    expect(starts).toHaveLength(1);
    expect(world.holds).toBe(0);
  });

  it('is killed when it does not end in time', async () => {
    isStubborn = true;
    const stopped = supervisor.stop();
    await world.advance(14_999);
    expect(signals).toEqual(['SIGTERM 1']);
    await world.advance(1);
    expect(signals).toEqual(['SIGTERM 1', 'SIGKILL 1']);
    await world.finish(stopped);
  });

  it('that is just being waited for is not started any more once it is to stop', async () => {
    await leaves(4);
    await world.finish(supervisor.stop());
    expect(starts).toHaveLength(1);
    expect(signals).toEqual([]);
  });
});

describe('a supervised program that has to wait for its turn', () => {
  beforeEach(async () => {
    await world.finish(supervisor.stop());
    starts.length = 0;
    isItsTurn = false;
    supervisor = supervise(true);
    await world.settle();
  });

  it('is not started before, and nothing is said about it', async () => {
    await world.advance(600_000);
    expect([starts, said]).toEqual([[], []]);
    turnComes();
    await world.settle();
    expect(starts).toHaveLength(1);
  });

  it('is not started again when its turn is over, but at once when it comes back', async () => {
    turnComes();
    await world.settle();
    for (let time = 0; time < 3; time++) {
      await leaves(1);
      await world.advance(5_000);
    }
    isItsTurn = false;
    await leaves(4);
    await world.advance(600_000);
    expect(said.at(-1)).toBe('The orchestrator has ended (exit code 4).');
    expect(starts).toHaveLength(4);
    turnComes();
    await world.settle();
    expect(starts).toHaveLength(5);
    await leaves(1);
    expect(said.at(-1)).toContain('in 500 ms');
  });

  it('waits when its turn ended during the pause before its next start', async () => {
    turnComes();
    await world.settle();
    await leaves(1);
    isItsTurn = false;
    await world.advance(600_000);
    expect(starts).toHaveLength(1);
  });

  it('is not started any more once it is to stop', async () => {
    await world.finish(supervisor.stop());
    turnComes();
    await world.advance(60_000);
    expect(starts).toEqual([]);
    expect(world.holds).toBe(0);
  });
});
