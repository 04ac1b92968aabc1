/**
 * A few names that go from hand to hand: each client waits in line, and relies on its grant up to the last moment, without
 * ever renewing it, because its loop is busy. So the deadline of a grant that waited is tried to the millisecond.
 */
import { namedLeasesOf } from '../../../src/client/client.ts';
import type { LeaseHandle } from '../../../src/client/lease-handle.ts';
import { LeaseholdError } from '../../../src/protocol/leasehold-error.ts';
import type { ClientProgram } from '../world/client-program.ts';

const NAMES = ['handed:a', 'handed:b'] as const;
/** What is left of a lease when it has been relied on to its end. */
const LAST_MS = 0.3;
const DRIFT_SHARE = 0.005;

export async function handOvers(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  await program.rounds(async () => {
    const name = random.pick(NAMES);
    program.doing(`waiting for ${name}`);
    const options = { ttl: random.magnitude(80, 4_000), wait: random.between(5_000, 20_000) };
    const lease = await namedLeasesOf(leasehold)
      .acquire(name, options)
      .catch((fault: unknown) => {
        if (fault instanceof LeaseholdError && fault.problem !== null) return null;
        throw fault;
      });
    if (lease !== null) await relyOn(program, lease);
    await program.sleep(1, 200);
  });
}

async function relyOn(program: ClientProgram, lease: LeaseHandle): Promise<void> {
  const handle = program.held(lease, { names: [lease.name], holder: lease.holder });
  program.doing(`holding ${lease.name}`);
  const isHeld = program.use(handle, lease);
  // Twice, because local clocks drift. The renewal that is sent in between is answered too late to count.
  if (isHeld && program.random.chance(0.7)) {
    await program.block(Math.max(0, lease.remaining() * (1 - DRIFT_SHARE) - LAST_MS));
    if (program.use(handle, lease)) await program.block(Math.max(0, lease.remaining() - LAST_MS));
    program.use(handle, lease);
  }
  program.released(handle);
  await lease.finish();
}
