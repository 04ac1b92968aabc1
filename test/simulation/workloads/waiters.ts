/**
 * Named leases with waiters: clients stand in line for a few names, hold them for a while, rely on them, write, and give
 * them back, or give up waiting, or simply go away.
 */
import type { Lease } from '../../../src/client/lease-handle.ts';
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
    const acquired = await leasehold.tryAcquire(name, options).catch((fault: unknown) => {
      if (giveUp.signal.aborted && fault === giveUp.signal.reason) return null;
      throw fault;
    });
    if (acquired?.ok) await hold(program, acquired.lease);
    await program.sleep(1, 300);
  });
}

async function hold(program: ClientProgram, lease: Lease): Promise<void> {
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
