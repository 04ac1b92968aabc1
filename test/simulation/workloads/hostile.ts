/** Clients that try what is not theirs: guessed and stale tokens, lease ids and fencing numbers. Nothing may come of it. */
import type { ClientProgram } from '../world/client-program.ts';
import { GUARD, NAMES } from './shared-names.ts';

export async function hostile(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  const stale = { holder: client, token: random.token() + random.token(), leaseSeq: 0, name: 'none' };
  await program.rounds(async () => {
    program.doing('trying what is not allowed');
    const name = random.pick(NAMES);
    const found = await leasehold.call('lease.get', { name });
    const holder = found.ok ? found.holder : client;
    const token = random.token() + random.token();
    switch (random.below(7)) {
      case 0: {
        const renewed = await leasehold.call('lease.renew', { name, holder, token, ttl_ms: 60_000 });
        program.expect(!renewed.ok, `A guessed token renewed ${name}.`);
        break;
      }
      case 1: {
        const released = await leasehold.call('lease.release', { name, holder, token });
        if (released.ok) program.expect(!released.released, `A guessed token released ${name}.`);
        break;
      }
      case 2: {
        const wiped = await leasehold.call('lease.wipe', {
          prefix: '',
          guard: { name: GUARD, holder, token },
        });
        program.expect(!wiped.ok, 'A guessed token wiped everything.');
        break;
      }
      case 3: {
        const lease_seq = found.ok ? found.lease_seq + random.between(1, 1_000) : random.below(1_000_000);
        const written = await leasehold.call('object.write', {
          object_id: name,
          value: 'stolen',
          lease: { lease_seq },
        });
        if (found.ok && written.ok) {
          const now = await leasehold.call('lease.get', { name });
          program.expect(now.ok && now.lease_seq >= lease_seq, `A guessed number wrote ${name}.`);
        }
        break;
      }
      case 4: {
        const task_id = `task-${random.below(30)}`;
        const done = await leasehold.call('task.complete', {
          task_id,
          lease_id: `l${'0'.repeat(11)}`,
          result: 'stolen',
        });
        program.expect(!done.ok, `A guessed lease completed ${task_id}.`);
        break;
      }
      case 5: {
        // Takes one of its own, gives it back, and tries to use it afterwards.
        const own = `own:${client}`;
        const won = await leasehold.call('lease.acquire', {
          name: own,
          holder: client,
          token,
          ttl_ms: 2_000,
        });
        if (!won.ok) break;
        const gone = await leasehold.call('lease.release', { name: own, holder: client, token });
        Object.assign(stale, { token, leaseSeq: won.lease_seq, name: own });
        if (!gone.ok) break;
        const renewed = await leasehold.call('lease.renew', {
          name: own,
          holder: client,
          token,
          ttl_ms: 2_000,
        });
        program.expect(!renewed.ok, 'A lease that was given back came to life.');
        break;
      }
      default: {
        if (stale.leaseSeq === 0) break;
        const lease = { lease_seq: stale.leaseSeq };
        const written = await leasehold.call('object.write', { object_id: stale.name, value: 'late', lease });
        program.expect(!written.ok, 'A lease that was given back wrote its object.');
      }
    }
    await program.sleep(5, 600);
  });
}
