// A relay without its lease or its database; test/postgres has what it does with both.
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

/** It names the lease, and answers nothing else. */
const database: ConnectionPool = {
  query: async () => ({ rows: [{ name: 'outbox:mine.public' }] }),
  connect: () => new Promise(() => undefined),
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

describe('a relay whose database has fallen silent', () => {
  it('gives its lease back and says why, so that another relay can take over', async () => {
    const faults: unknown[] = [];
    const relaying = start(stage.client(), { onRetry: (fault) => faults.push(fault) });
    await world.settle();
    expect(relaying.isActive).toBe(true);
    await world.advance(119_999);
    expect(faults).toEqual([]);
    await world.advance(1);
    expect(faults).toMatchObject([{ message: 'The database or the server has not answered for 120 s.' }]);
    const other = await world.finish(stage.client().lh.tryAcquire('outbox:mine.public'));
    expect(other).not.toBeNull();
    await world.finish(relaying.drain());
    await world.finish(other!.release());
  });
});
