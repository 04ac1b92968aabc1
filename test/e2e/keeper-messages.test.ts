// A killed keeper has reported which program it started: that message is delivered before its end, however late the
// listener. Otherwise the program would run on unknown. The order is forced: nothing is read until both have arrived.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nodeProcesses } from '../../dist/world/node-processes.js';

const NEVER = { monotonicMs: 1e12, wallMs: 1e15 };
const PATIENCE_LOOKS = 2_000;

let dir: string;
let program = 0;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-keeper-'));
});

afterEach(() => {
  if (program !== 0) nodeProcesses.signalGroup(program, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** Looks again and again without ever giving the loop a turn. */
function standStillUntil<T>(what: string, look: () => T | null): T {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0; looks < PATIENCE_LOOKS; looks++) {
    const found = look();
    if (found !== null) return found;
    Atomics.wait(cell, 0, 0, 5);
  }
  throw new Error(`${what} did not come.`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && (fault.code === 'ENOENT' || fault.code === 'ESRCH'))
      return '';
    throw fault;
  }
}

it('the last words of a keeper are heard before its end', async () => {
  const file = join(dir, 'output.log');
  const heard: { is: string; pid?: number }[] = [];
  const gone = new Promise<void>((resolve) => {
    const keeper = nodeProcesses.startKeeper({
      sharesInput: false,
      received: (message) => heard.push(message as { is: string; pid?: number }),
      gone: () => {
        heard.push({ is: 'gone' });
        resolve();
      },
    });
    keeper.send({
      do: 'start',
      id: 'one',
      command: ['/bin/sh', '-c', 'echo $PPID; exec sleep 60'],
      env: { PATH: process.env.PATH },
      limits: { terminateBy: NEVER, killBy: NEVER, graceMs: 1_000 },
      scratch: null,
      output: { file, bytesMax: 10_000, ready: null },
    });
  });
  // What the program says is written down after the keeper has said that it runs.
  const keeperPid = standStillUntil('the word of the program', () =>
    /^\d+\n/.test(textOf(file)) ? Number.parseInt(textOf(file), 10) : null,
  );
  process.kill(keeperPid, 'SIGKILL');
  standStillUntil('the end of the keeper', () =>
    /\) [^Z]/.test(textOf(`/proc/${keeperPid}/stat`)) ? null : true,
  );
  await gone;
  program = heard.find(({ is }) => is === 'started')?.pid ?? 0;
  const started = {
    is: 'started',
    id: 'one',
    pid: expect.any(Number),
    startTime: expect.stringMatching(/^\d+$/),
  };
  expect(heard).toEqual([started, { is: 'gone' }]);
});
