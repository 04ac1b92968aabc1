// Which orphaned processes are killed, and which processes are not.
import { beforeEach, describe, expect, it } from 'vitest';
import { LivingProcesses } from '../../test/support/living-processes.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { endStrays, restOf, type StraySearch } from './stray-pipelines.ts';

const MARK = { LEASEHOLD_AUTHORITY_ID: 'ours', LEASEHOLD_SESSION_ID: 's1' };

let world: ManualWorld;
let processes: LivingProcesses;

beforeEach(() => {
  world = new ManualWorld();
  processes = new LivingProcesses();
});

function end(search: Partial<StraySearch> = {}): Promise<boolean> {
  return endStrays(
    { timers: world.timers, processTable: processes },
    { mark: MARK, isOver: () => false, ...search },
  );
}

/** Lets it look as often as it wants to within this time. */
async function within<T>(ms: number, call: Promise<T>): Promise<T> {
  await world.advance(ms);
  return world.finish(call);
}

describe('stray pipelines', () => {
  it('are the processes that carry every variable of the mark, each with its whole group', async () => {
    processes.start({ pid: 7, env: { ...MARK, LEASEHOLD_SLOT: '0' } });
    processes.start({ pid: 8, group: 7, env: {} });
    processes.start({ pid: 9, env: { ...MARK, LEASEHOLD_AUTHORITY_ID: 'theirs' } });
    processes.start({ pid: 10, env: { LEASEHOLD_SESSION_ID: 's1' } });
    expect(await within(20, end())).toBe(true);
    expect(processes.pids).toEqual([9, 10]);
  });

  it('are killed again until none is left, with longer and longer pauses', async () => {
    processes.start({ pid: 7, env: MARK, survives: 6 });
    const call = end();
    await world.settle();
    const counts: number[] = [];
    for (const ms of [20, 40, 80, 160, 320, 500]) {
      await world.advance(ms);
      counts.push(processes.killed.length);
    }
    expect(counts).toEqual([2, 3, 4, 5, 6, 7]);
    await world.advance(500);
    expect(await world.finish(call)).toBe(true);
  });

  it('are left alone once it is over, also when that happens during a look', async () => {
    processes.start({ pid: 7, env: MARK });
    let isOver = false;
    processes.meanwhile = async () => {
      isOver = true;
    };
    expect(await world.finish(end({ isOver: () => isOver }))).toBe(false);
    expect(processes.killed).toEqual([]);
  });

  it('cannot be known where the system shows no processes', async () => {
    processes.start({ pid: 7, env: MARK });
    processes.isBlind = true;
    expect(await world.finish(end())).toBe(false);
  });
});

describe('what is left of a program', () => {
  it('is its group, and what has left the group and carries its mark', async () => {
    processes.start({ pid: 7, startTime: '100' });
    processes.start({ pid: 8, group: 7 });
    processes.start({ pid: 9, env: MARK });
    processes.start({ pid: 10 });
    await within(20, end({ choose: restOf(7, '100') }));
    expect(processes.pids).toEqual([10]);
  });

  it('is the rest of its group when it has ended itself', async () => {
    processes.start({ pid: 8, group: 7 });
    await within(20, end({ choose: restOf(7, '100') }));
    expect(processes.pids).toEqual([]);
  });

  it('is nothing of a process that was given its number', async () => {
    processes.start({ pid: 7, startTime: '200' });
    processes.start({ pid: 8, group: 7 });
    expect(await world.finish(end({ choose: restOf(7, '100') }))).toBe(true);
    expect(processes.killed).toEqual([]);
  });

  it('is what carries its mark when its number was never told', async () => {
    processes.start({ pid: 2, group: 0 });
    processes.start({ pid: 7, env: MARK });
    await within(20, end({ choose: restOf(0, null) }));
    expect(processes.pids).toEqual([2]);
  });
});
