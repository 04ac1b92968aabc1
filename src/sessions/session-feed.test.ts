// The feed of a log whose connections the test plays: what each delivers, and where the next one starts.
import { expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { Leasehold } from '../client/leasehold.ts';
import type { Transport } from '../client/transport.ts';
import type { EntryRecord } from '../operations/records.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { followSessions } from './session-feed.ts';
import type { OrchestratorWorld } from './world.ts';

/** Entries that come over one connection, and how it ends. */
interface Connection {
  readonly brings: readonly number[];
  readonly fails: LeaseholdError['code'];
}

async function fed(
  connections: readonly Connection[],
): Promise<{ begun: (number | null)[]; heard: string[] }> {
  const world = new ManualWorld();
  const begun: (number | null)[] = [];
  const heard: string[] = [];
  const end = new AbortController();
  const transport = {
    async *follow(from: number | null) {
      const { brings, fails } = connections[begun.length]!;
      begun.push(from);
      if (begun.length === connections.length) end.abort();
      for (const seq of brings) {
        const state = 'STOPPING';
        yield { seq, type: 'SessionChanged', session_id: `session ${seq}`, state } as unknown as EntryRecord;
      }
      throw new LeaseholdError(fails, 'over');
    },
  } as unknown as Transport;
  const feed = followSessions(
    {
      client: new Leasehold(transport, world),
      timers: world.timers,
      say: () => undefined,
    } as unknown as OrchestratorWorld,
    5,
    end.signal,
    { changed: (id, state) => heard.push(`${id} ${state}`), broken: () => undefined },
  );
  await world.advance(10_000);
  await world.finish(feed);
  return { begun, heard };
}

it('continues after its last entry when a connection breaks', async () => {
  const { begun, heard } = await fed([
    { brings: [7, 9], fails: 'UNREACHABLE' },
    { brings: [], fails: 'UNREACHABLE' },
    { brings: [], fails: 'UNREACHABLE' },
  ]);
  expect(begun).toEqual([5, 10, 10]);
  expect(heard).toEqual(['session 7 STOPPING', 'session 9 STOPPING']);
});

it('continues from now when the log no longer reaches back to its position', async () => {
  const { begun } = await fed([
    { brings: [7], fails: 'LOG_COMPACTED' },
    { brings: [20], fails: 'UNREACHABLE' },
    { brings: [], fails: 'UNREACHABLE' },
  ]);
  expect(begun).toEqual([5, null, 21]);
});
