/** Several names at once, in any order: all of them under one number, or none; and never a deadlock. */
import type { ClientProgram } from '../world/client-program.ts';
import { NAMES, ttlMs } from './shared-names.ts';

export async function allOrNone(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  await program.rounds(async () => {
    const names = random.some(NAMES, random.between(2, 3));
    if (random.chance(0.5)) names.reverse();
    program.doing(`waiting for ${names.join(' and ')}`);
    const set = await leasehold.acquireAll(names, { ttl: ttlMs(random), wait: random.between(0, 8_000) });
    const handle = program.held(set, { names, holder: set.holder });
    for (let step = random.between(0, 3); step > 0; step--) {
      if (!program.use(handle, set)) break;
      await program.sleep(1, 800);
      if (random.chance(0.4)) await program.bear(() => set.write(random.pick(names), { by: program.client }));
    }
    program.released(handle);
    await set.release();
    await program.sleep(1, 300);
  });
}
