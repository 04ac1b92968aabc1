/**
 * Named leases with waiters: clients stand in line for a few names, hold them for a while, rely on them, write, and give
 * them back, or give up waiting, or simply go away.
 */

import { namedLeasesOf } from '../../../src/client/client.ts';
import type { LeaseHandle } from '../../../src/client/lease-handle.ts';
import { LeaseholdError } from '../../../src/protocol/leasehold-error.ts';
import type { ClientProgram } from '../world/client-program.ts';
import { NAMES, ttlMs } from './shared-names.ts';

export async function waiters(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  await program.rounds(async () => {
    const name = random.pick(NAMES);
    program.doing(`waiting for ${name}`);
    const giveUp = new AbortController();
    const options = { ttl: ttlMs(random), wait: random.between(0, 10_000), signal: giveUp.signal };
    if (random.chance(0.15)) void program.sleep(1, 3_000).then(() => giveUp.abort(new Error('on purpose')));
    const acquiring = namedLeasesOf(leasehold).acquire(name, options);
    const acquired = await acquiring.catch((fault: unknown) => {
      if (giveUp.signal.aborted && fault === giveUp.signal.reason) return null;
      // Every refusal, not only that it is held: a grant may be over before it is confirmed.
      if (fault instanceof LeaseholdError && fault.problem !== null) return null;
      throw fault;
    });
    if (acquired !== null) await hold(program, acquired);
    await program.sleep(1, 300);
  });
}

async function hold(program: ClientProgram, lease: LeaseHandle): Promise<void> {
  const { random } = program;
  const handle = program.held(lease, { names: [lease.name], holder: lease.holder });
  program.doing(`holding ${lease.name}`);
  for (let step = random.between(0, 4); step > 0; step--) {
    if (!program.use(handle, lease)) break;
    await program.sleep(1, 1_500);
    if (random.chance(0.3)) await program.bear(() => lease.write({ by: program.client, step }));
  }
  // Some never say goodbye: the lease is renewed until its process is killed, or it is lost.
  program.released(handle);
  if (random.chance(0.5)) await lease.release();
  else await lease.finish();
}
