// What a relay reports while it cannot get its lease; test/postgres has what it does with one.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage } from '../../test/support/lease-stage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { ConnectionPool } from './database.ts';
import { type RelayOptions, RunningRelay } from './relay.ts';

let world: ManualWorld;
let stage: Stage;

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
});

/** Without a lease it asks the database for nothing but the name of the lease. */
const database: ConnectionPool = {
  query: async () => ({ rows: [{ name: 'outbox:mine.public' }] }),
  connect: () => Promise.reject(new Error('No connection was expected.')),
};

function start({ lh }: Pick<ReturnType<Stage['client']>, 'lh'>, options: RelayOptions): RunningRelay {
  return new RunningRelay(database, lh, options, { timers: world.timers, onFault: () => undefined });
}

describe('a relay without its lease', () => {
  it('reports within seconds that no server answers', async () => {
    const client = stage.client();
    client.wire.let(null, 'fails');
    const faults: unknown[] = [];
    const relaying = start(client, { onRetry: (fault) => faults.push(fault) });
    await world.settle();
    await world.advance(10_000);
    expect(faults).toMatchObject([{ code: 'UNREACHABLE' }]);
    await world.finish(relaying.drain());
  });

  it('reports nothing while another relay has it', async () => {
    const other = await world.finish(stage.client().lh.acquire('outbox:mine.public', { ttl: '1h' }));
    const faults: unknown[] = [];
    const relaying = start(stage.client(), { onRetry: (fault) => faults.push(fault) });
    await world.settle();
    await world.advance(600_000);
    expect(relaying.isActive).toBe(false);
    expect(faults).toEqual([]);
    await world.finish(relaying.drain());
    await world.finish(other.release());
  });
});
