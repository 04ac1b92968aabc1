/** Thousands who wait for one name: each gets it in turn, and gives it to the next at once. */
import type { ClientProgram } from '../world/client-program.ts';

const NAME = 'crowded';

export async function crowd(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  await program.rounds(async (left) => {
    program.doing('waiting in a crowd');
    const all = Array.from({ length: program.waiters }, async (_, index) => {
      const holder = `${client}-${program.run}-${left}-${index}`;
      const token = random.token() + random.token();
      const wait_ms = random.between(1_000, 30_000);
      await program.bear(async () => {
        const won = await leasehold.call('lease.acquire', {
          name: NAME,
          holder,
          token,
          ttl_ms: 2_000,
          wait_ms,
        });
        if (won.ok) await leasehold.call('lease.release', { name: NAME, holder, token });
      });
    });
    await Promise.all(all);
  });
}
