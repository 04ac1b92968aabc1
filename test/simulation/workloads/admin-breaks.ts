/** An administrator who breaks leases that others rely on, kills tasks and pauses queues. */
import type { ClientProgram } from '../world/client-program.ts';
import { NAMES, QUEUE } from './shared-names.ts';

export async function adminBreaks(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  await program.rounds(async () => {
    program.doing('administering');
    if (random.chance(0.15)) {
      await leasehold.call('queue.pause', { queue: QUEUE });
      await program.sleep(10, 1_000);
    }
    // A queue that stays paused would keep others waiting for ever, so it is resumed until that has worked.
    while (!(await program.bear(() => leasehold.call('queue.resume', { queue: QUEUE }))))
      await program.sleep(200);
    const name = random.pick(NAMES);
    const found = await leasehold.call('lease.get', { name });
    if (found.ok) {
      if (random.chance(0.3)) await program.sleep(1, 500);
      const only = random.chance(0.7) ? { lease_seq: found.lease_seq } : {};
      await leasehold.call('lease.break', { name, reason: 'on purpose', ...only });
    }
    await program.sleep(100, 2_500);
  });
}
