// What `leasehold status` says of a standby that cannot read its log: the reply is that of a server, written down here.
import { beforeEach, describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { statusCommand } from './status.ts';

const TROUBLE = 'The database of the log cannot be reached (ECONNREFUSED).';

let test: TestShell;

beforeEach(async () => {
  test = await TestShell.open();
});

/** The output for a reply that differs from that of a new leader in these fields. */
async function statusOf(fields: object): Promise<string> {
  const reply = { ...(await test.world.finish(test.lh.call('status.get', {}))), ...fields };
  const lh = { call: async () => reply, close: async () => undefined } as unknown as Leasehold;
  const command = statusCommand({ ...test.shell(), connect: async () => lh });
  await test.world.finish(command.parseAsync([], { from: 'user' }));
  return test.out.take().replace(/ +/g, ' ');
}

describe('the status of a standby', () => {
  it('has no zeros for a log that it has not read, and says why it has not', async () => {
    const standby = { role: 'standby', seq: 0, leader_url: null, log_trouble: TROUBLE };
    expect(await statusOf(standby)).toBe(
      [
        'server http://127.0.0.1:7420, standby',
        'leader unknown',
        `trouble ${TROUBLE}`,
        'log this standby has not read it yet',
        '',
      ].join('\n'),
    );
  });

  it('has what it read before beside the trouble it has now', async () => {
    const standby = { role: 'standby', seq: 9, leader_url: 'http://other', log_trouble: TROUBLE };
    const out = await statusOf(standby);
    expect(out).toContain(`leader http://other\ntrouble ${TROUBLE}\nlog seq 1 to 9, `);
    expect(out).toContain('\ntasks 0 waiting');
    expect(await statusOf({ ...standby, log_trouble: null })).not.toContain('trouble');
  });
});
