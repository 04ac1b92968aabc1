/**
 * Processes of which only one may work: each tries to become the guard, wipes what its predecessor left, takes leases of
 * its own and works under them. A guard that was lost ends its process; one that was paused too long finds that its
 * wipes are refused.
 */
import type { ClientProgram } from '../world/client-program.ts';
import { GUARD, ttlMs } from './shared-names.ts';

const KIND = 'system:sim:only-one';

export async function guardsAndWipes(program: ClientProgram): Promise<void> {
  await program.rounds(async () => {
    if (program.random.chance(0.5)) await guarded(program);
    else await orchestrated(program);
    await program.sleep(50, 1_500);
  });
}

/** By the client's own guard, which ends the process when it is lost. */
async function guarded(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  program.doing('becoming the only one');
  const options = {
    name: KIND,
    ttl: random.between(1_000, 4_000),
    wait: random.between(0, 4_000),
    grace: 300,
  };
  await leasehold.guard(options, async (guard) => {
    const handle = program.held(guard, { names: [KIND], holder: guard.holder, isGuard: true });
    program.doing('being the only one');
    for (let step = random.between(1, 6); step > 0; step--) {
      if (!program.use(handle, guard)) return;
      if (random.chance(0.1)) await program.block(random.magnitude(100, 6_000));
      else await program.sleep(10, 1_200);
      if (random.chance(0.3)) await program.bear(() => guard.write({ by: client }));
    }
    program.released(handle);
  });
}

/** By hand, with a token of its own, because a wipe has to show it. */
async function orchestrated(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  const holder = `${client}-${random.token()}`;
  const token = random.token() + random.token();
  program.doing('becoming the orchestrator');
  const lasts = random.between(800, 4_000);
  const won = await leasehold.call('lease.acquire', { name: GUARD, holder, token, ttl_ms: lasts });
  if (!won.ok) return;
  const guard = { name: GUARD, holder, token };
  for (let slot = random.between(0, 4); slot > 0; slot--) {
    await leasehold.call('lease.acquire', { name: `slot:${slot}`, holder, ttl_ms: ttlMs(random) });
  }
  if (random.chance(0.4)) await program.block(random.magnitude(100, 8_000));
  if (random.chance(0.5)) await leasehold.call('lease.renew', { name: GUARD, holder, token, ttl_ms: lasts });
  const prefix = random.chance(0.8) ? 'slot:' : random.chance(0.5) ? 'shared:' : '';
  await leasehold.call('lease.wipe', { prefix, guard });
  if (random.chance(0.7)) await leasehold.call('lease.release', { name: GUARD, holder, token });
  // A wipe by the process that was the guard a moment ago.
  if (random.chance(0.5)) {
    const late = await leasehold.call('lease.wipe', { prefix: 'slot:', guard });
    if (!late.ok)
      program.expect(late.code === 'GUARD_NOT_HELD', `A late wipe was refused with ${late.code}.`);
  }
}
