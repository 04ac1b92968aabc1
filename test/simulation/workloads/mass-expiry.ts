/** Many leases that expire at the same moment: none is renewed, and all of them are over in time. */
import type { ClientProgram } from '../world/client-program.ts';

const LEASES = 120;
/** By the client's clock and over the network; the authority itself is far quicker. */
const PATIENCE_MS = 5_000;

export async function massExpiry(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  await program.rounds(async (left) => {
    const lasts = random.between(300, 3_000);
    program.doing('taking many leases');
    const many = Array.from({ length: LEASES }, (_, index) =>
      leasehold.call('lease.acquire', {
        name: `many:${client}:${left}:${index}`,
        holder: client,
        ttl_ms: lasts,
      }),
    );
    await Promise.all(many.map((call) => program.bear(() => call)));
    program.doing('letting many leases run out');
    await program.sleep(lasts + PATIENCE_MS);
    const name = `many:${client}:${left}:${random.below(LEASES)}`;
    const found = await leasehold.call('lease.get', { name });
    if (found.ok) program.expect(found.remaining_ms > 0, `${name} is shown as held, with nothing left.`);
  });
}
