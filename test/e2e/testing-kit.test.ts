// `leasehold/testing` as its users get it: from the built package, without any test runner of ours.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('leasehold/testing', () => {
  it('can be imported by itself and lets an hour pass in no time', () => {
    const script = `
      import { defineTask } from 'leasehold';
      import { testLeasehold } from 'leasehold/testing';
      const t = await testLeasehold();
      const task = defineTask('slow');
      t.lh.work(task, {}, async () => { await t.sleep('1h'); return 'done'; });
      const receipt = await t.lh.enqueue(task, 1);
      await t.advance('1h');
      console.log(JSON.stringify(await receipt.result()));
      await t.close();`;
    const args = ['--input-type=module', '-e', script];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: '{"state":"COMPLETED","output":"done"}\n',
      stderr: '',
    });
  });
});
