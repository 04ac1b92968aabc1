// The id that the orchestrators of one authority share.
import { beforeEach, expect, it } from 'vitest';
import type { ManualWorld } from '../../test/support/manual-world.ts';
import { GUARD, OrchestratorStage } from '../../test/support/orchestrator-stage.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { RESTORE_JUMP } from '../engines/restored-seq.ts';
import { sharedAuthorityId } from './authority-id.ts';

let world: ManualWorld;
let lh: Leasehold;

beforeEach(async () => {
  const stage = await OrchestratorStage.open();
  ({ world, lh } = stage);
});

/** The guard as a new orchestrator has it. */
async function guardSeq(holder: string): Promise<number> {
  const reply = await world.finish(
    lh.call('lease.acquire', { name: GUARD, holder, token: holder.repeat(22), ttl_ms: 60_000 }),
  );
  if (!reply.ok) throw new Error(reply.detail);
  return reply.lease_seq;
}

it('is made by the first, and found by all that follow', async () => {
  const first = await guardSeq('a');
  expect(await world.finish(sharedAuthorityId(lh, first, 'one'))).toEqual({ ok: true, id: 'one' });
  expect(await world.finish(sharedAuthorityId(lh, first, 'two'))).toEqual({ ok: true, id: 'one' });
});

it('is written only by the holder of the guard', async () => {
  const first = await guardSeq('a');
  const reply = await world.finish(sharedAuthorityId(lh, first - 1, 'one'));
  expect(reply).toMatchObject({ ok: false, code: 'WRITE_STALE_FENCE' });
});

it('is made anew when the log was restored since, because the original may live beside it', async () => {
  const first = await guardSeq('a');
  await world.finish(sharedAuthorityId(lh, first, 'one'));
  const found = await world.finish(lh.call('object.get', { object_id: GUARD }));
  const call = async (operation: string) => (operation === 'object.get' ? found : { ok: true });
  const later = { call } as unknown as Leasehold;
  expect(await sharedAuthorityId(later, first + RESTORE_JUMP, 'two')).toMatchObject({
    id: 'one',
  });
  const restored = found.ok ? found.seq + RESTORE_JUMP : 0;
  expect(await sharedAuthorityId(later, restored, 'two')).toEqual({ ok: true, id: 'two' });
});

it('is made anew when the object of the guard is something else', async () => {
  const first = await guardSeq('a');
  const value = 'a note';
  await world.finish(lh.call('object.write', { object_id: GUARD, value, lease: { lease_seq: first } }));
  expect(await world.finish(sharedAuthorityId(lh, first, 'one'))).toEqual({ ok: true, id: 'one' });
});
