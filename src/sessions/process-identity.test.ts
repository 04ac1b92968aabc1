// The processes of this machine, as Linux reports them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { nodeProcessTable as table } from '../world/node-process-table.ts';
import { isProvablyDead } from './process-identity.ts';

describe('the process table', () => {
  it('knows this process, and that it is not dead', async () => {
    const self = (await table.self())!;
    expect(self).toMatchObject({ pid: process.pid, pid_ns: expect.stringMatching(/^pid:\[\d+\]$/) });
    expect(self.boot_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await table.startTimeOf(process.pid)).toBe(self.start_time);
    expect(await isProvablyDead(self, self, table)).toBe(false);
    expect(await isProvablyDead({ ...self, start_time: '1' }, self, table)).toBe(true);
  });

  it('knows that a process has ended, though it has not been reaped yet', async () => {
    const self = (await table.self())!;
    // The shell starts a process that ends, becomes another program, and never collects it.
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [output] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(output.toString());
      for (let look = 0; look < 500 && (await table.startTimeOf(pid)) !== 'none'; look++) {
        await new Promise<void>((resolve) => setTimeout(resolve, 10));
      }
      expect(process.kill(pid, 0)).toBe(true);
      expect(await isProvablyDead({ ...self, pid, start_time: '1' }, self, table)).toBe(true);
    } finally {
      parent.kill('SIGKILL');
      await once(parent, 'exit');
    }
    expect(await table.startTimeOf(parent.pid!)).toBe('none');
  });

  it.each([
    ['nothing', null],
    ['no number', { start_time: '1' }],
    ['no start', { pid: 2 ** 22 }],
    ['a number below 1', { pid: 0, start_time: '1' }],
  ])('takes no process for dead when it is given %s', async (_what, note) => {
    const self = (await table.self())!;
    const told = note === null ? null : { boot_id: self.boot_id, pid_ns: self.pid_ns, ...note };
    expect(await isProvablyDead(told, self, table)).toBe(false);
  });
});
