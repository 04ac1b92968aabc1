/**
 * Writers that pause between checking and writing, for longer than their lease lasts: what they write late must be
 * refused by the fence, whatever they believe themselves.
 */
import type { Lease } from '../../../src/client/held.ts';
import type { ClientProgram } from '../world/client-program.ts';
import { NAMES, ttlMs } from './shared-names.ts';

export async function fencedWriters(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  await program.rounds(async (left) => {
    const name = random.pick(NAMES);
    program.doing(`writing ${name}`);
    const options = { ttl: ttlMs(random), wait: random.between(100, 6_000) };
    await leasehold.withLease(name, options, (lease) => write(program, lease, left));
    await program.sleep(1, 200);
  });
}

async function write(program: ClientProgram, lease: Lease, left: number): Promise<void> {
  const handle = program.held(lease, { names: [lease.name], holder: lease.holder });
  try {
    await writeUnder(program, lease, handle, left);
  } catch (fault) {
    // Whatever else went wrong, `withLease` gives back what is still held.
    if (lease.remaining() > 0) program.released(handle);
    throw fault;
  }
}

async function writeUnder(program: ClientProgram, lease: Lease, handle: number, left: number): Promise<void> {
  const { leasehold, random, client } = program;
  const { name, leaseSeq, holder } = lease;
  const read = await leasehold.call('object.get', { object_id: name });
  const version = read.ok ? read.version : 0;
  if (!program.use(handle, lease)) return;
  if (random.chance(0.3)) await program.block(random.magnitude(50, 12_000));
  const value = { by: client, left };
  if (random.chance(0.5)) await lease.write(value);
  else {
    // Past the client's own check, as a program in another language would do it.
    await leasehold.call('object.write', {
      object_id: name,
      value,
      lease: { lease_seq: leaseSeq, holder_id: holder },
      ...(random.chance(0.5) ? { if_version: version } : {}),
    });
  }
  if (random.chance(0.1))
    await leasehold.call('object.delete', { object_id: name, lease: { lease_seq: leaseSeq } });
  program.released(handle);
}
