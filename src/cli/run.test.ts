// `leasehold run` and the signals that come while it is starting. That of a program that runs: test/e2e/cli-run.test.ts.
import { beforeEach, describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import type { FromKeeper, ToKeeper } from '../keeper/keeper.ts';
import type { SignalName } from '../seams/processes.ts';
import { runProgram } from './program.ts';
import type { Shell } from './shell.ts';

let test: TestShell;
let told: ToKeeper[];
let code: number;
let listeners: Set<(signal: SignalName) => void>;
/** What happens when the lease is held and the program is about to be started. */
let beforeStart: () => void;

const signal = (name: SignalName): void => {
  for (const call of [...listeners]) call(name);
};

beforeEach(async () => {
  test = await TestShell.open();
  told = [];
  code = 0;
  listeners = new Set();
  beforeStart = () => undefined;
});

/** A shell whose keeper only remembers what it is told, and ends the program with the first signal. */
function shell(): Shell {
  return shellWith(test.shell());
}

function shellWith(plain: Shell): Shell {
  return {
    ...plain,
    files: {
      ...plain.files,
      async makeTemporary() {
        beforeStart();
        return '/tmp/scratch';
      },
    },
    processes: {
      ...plain.processes,
      startKeeper: ({ received }) => ({
        send(message) {
          const order = message as ToKeeper;
          told.push(order);
          if (order.do !== 'signal') return;
          const { id, signal: by } = order;
          received({
            is: 'ended',
            id,
            end: { code: null, signal: by },
            isStopped: false,
          } satisfies FromKeeper);
        },
        close: () => undefined,
        kill: () => undefined,
      }),
      onSignals(_, call) {
        listeners.add(call);
        return () => listeners.delete(call);
      },
    },
    exitWith: (given) => {
      code = given;
    },
  };
}

const run = (): Promise<void> => test.world.finish(runProgram(shell(), ['run', 'door', '--', 'program']));

async function isFree(): Promise<boolean> {
  return !(await test.world.finish(test.lh.call('lease.get', { name: 'door' }))).ok;
}

describe('a signal that asks for an end', () => {
  it('when the lease is held and the program not yet started: it is not started, and the lease given back', async () => {
    beforeStart = () => signal('SIGTERM');
    await run();
    expect(code).toBe(143);
    expect(told).toEqual([]);
    expect(await isFree()).toBe(true);
  });

  it('while the lease is asked for: nothing is started', async () => {
    await test.world.finish(test.lh.call('lease.acquire', { name: 'door', holder: 'anna', ttl_ms: 60_000 }));
    const waiting = runProgram(shell(), ['run', 'door', '--wait', '1m', '--', 'program']);
    await test.world.settle();
    signal('SIGINT');
    await test.world.finish(waiting);
    expect(code).toBe(130);
    expect(told).toEqual([]);
  });

  it('later is passed on, and the code is that of the program', async () => {
    const running = runProgram(shell(), ['run', 'door', '--', 'program']);
    await test.world.settle();
    expect(told).toMatchObject([{ do: 'start' }]);
    signal('SIGTERM');
    await test.world.finish(running);
    expect(told.at(-1)).toMatchObject({ do: 'signal', signal: 'SIGTERM' });
    expect(code).toBe(143);
    expect(await isFree()).toBe(true);
  });
});

describe('--at-least', () => {
  it('leaves a lease that ends by time, which is no incident', async () => {
    const running = runProgram(shell(), ['run', 'door', '--at-least', '10m', '--', 'program']);
    await test.world.settle();
    signal('SIGTERM');
    await test.world.finish(running);
    expect(await isFree()).toBe(false);
    await test.world.advance(600_000);
    expect(await isFree()).toBe(true);
    const overview = await test.world.finish(test.lh.call('overview.get', {}));
    expect(overview).toMatchObject({ incidents: [] });
    await test.world.finish(test.lh.call('lease.acquire', { name: 'door', holder: 'anna', ttl_ms: 1_000 }));
    await test.world.advance(1_000);
    expect(await isFree()).toBe(true);
    const after = await test.world.finish(test.lh.call('overview.get', {}));
    expect(after).toMatchObject({ incidents: [{ type: 'NameExpired', name: 'door', holder: 'anna' }] });
  });
});

describe('a lease that another run has', () => {
  const busy = (...options: string[]) => test.run('run', 'door', ...options, '--', 'program');

  beforeEach(async () => {
    const { shell: plain } = test;
    test.shell = () => ({ ...plain.call(test), processes: shellWith(plain.call(test)).processes });
    await test.world.finish(test.lh.call('lease.acquire', { name: 'door', holder: 'anna', ttl_ms: 60_000 }));
  });

  it('is told, and the exit code is 73', async () => {
    expect(await busy()).toMatchObject({ code: 73, err: expect.stringContaining('LEASE_HELD') });
  });

  it('is only the exit code with --quiet', async () => {
    expect(await busy('--quiet')).toEqual({ code: 73, out: '', err: '' });
  });
});
