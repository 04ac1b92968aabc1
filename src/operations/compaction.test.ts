// Compaction under a running authority: it changes no answer, and what is read meanwhile is there.

import { describe, expect, it } from 'vitest';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { transportOf } from '../client/client.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { openWith } from '../open.ts';
import { jsonText } from '../protocol/json.ts';

const KIB = 1024;

/** Everything a caller can see, as text. */
async function look(world: ManualWorld, lh: Leasehold): Promise<string> {
  const tasks = await world.finish(lh.call('task.list', { limit: 1_000 }));
  const leases = await world.finish(lh.call('lease.list', { limit: 1_000 }));
  const objects = [];
  for (const id of ['object-0', 'object-1', 'object-2'])
    objects.push(await world.finish(lh.call('object.get', { object_id: id })));
  const queues = await world.finish(lh.call('queue.list', {}));
  return jsonText({ tasks, leases, objects, queues });
}

describe('compaction', () => {
  it('changes no answer, moves the beginning of the log, and leaves less of it', async () => {
    const world = new ManualWorld();
    const disk = new TestDisk();
    const open = (compactionBytesMin: number): Promise<Leasehold> => {
      const threads = inlineThreads(disk);
      const engine = fileEngine({
        dir: '/data',
        files: disk,
        threads,
        segmentBytes: 64 * KIB,
        compactionBytesMin,
      });
      return world.finish(openWith(engine, world));
    };

    let lh = await open(Number.POSITIVE_INFINITY);
    for (let number = 0; number < 300; number++) {
      await world.finish(
        lh.call('task.create', { payload: { number, pad: 'x'.repeat(500) }, queue: `q${number % 3}` }),
      );
      const reply = await world.finish(lh.call('task.lease', { worker_id: 'w', queues: [`q${number % 3}`] }));
      if (!reply.ok) throw new Error(reply.detail);
      const { task_id, lease_id } = reply.leases[0]!;
      if (number % 5 === 0)
        await world.finish(
          lh.call('task.checkpoint', { task_id, lease_id, value: { number, pad: 'y'.repeat(300) } }),
        );
      if (number % 7 === 0) await world.finish(lh.call('task.cancel', { task_id, reason: `no ${number}` }));
      if (number % 4 === 1)
        await world.finish(lh.call('task.complete', { task_id, lease_id, result: { number } }));
      if (number % 4 === 2)
        await world.finish(lh.call('task.fail', { task_id, lease_id, reason: 'no', retry: false }));
      if (number % 4 === 3)
        await world.finish(lh.call('task.release', { task_id, lease_id, delay_ms: 1_000 }));
    }
    for (const index of [0, 1, 2]) {
      const id = `object-${index}`;
      const lease = await world.finish(
        lh.call('lease.acquire', { name: id, holder: 'h', ttl_ms: 600_000, metadata: { index } }),
      );
      if (!lease.ok) throw new Error(lease.detail);
      const fence = { lease_seq: lease.lease_seq };
      await world.finish(lh.call('object.write', { object_id: id, value: { index }, lease: fence }));
    }
    await world.finish(lh.close());

    lh = await open(Number.POSITIVE_INFINITY);
    const before = await look(world, lh);
    const { logBytes: bytesBefore } = await world.finish(lh.status());
    await world.finish(lh.close());

    // The first batch sets it going; while it runs, every payload stays readable.
    lh = await open(64 * KIB);
    expect(await look(world, lh)).toBe(before);
    let firstSeq = 1;
    for (let tries = 0; tries < 50 && firstSeq === 1; tries++) {
      await world.finish(lh.call('queue.pause', { queue: 'switched' }));
      await world.finish(lh.call('queue.resume', { queue: 'switched' }));
      expect(await look(world, lh)).toBe(before);
      firstSeq = (await world.finish(lh.status())).firstSeq;
    }
    expect(firstSeq).toBeGreaterThan(1);
    expect(await look(world, lh)).toBe(before);
    expect((await world.finish(lh.status())).logBytes).toBeLessThan(bytesBefore);
    expect(await world.finish(transportOf(lh).log({ from: 1 }))).toMatchObject({
      code: 'LOG_COMPACTED',
      first_seq: firstSeq,
    });
    await world.finish(lh.close());

    lh = await open(Number.POSITIVE_INFINITY);
    expect(await look(world, lh)).toBe(before);
    await world.finish(lh.close());
  });

  it('that fails changes nothing, says why each time, and is tried again', async () => {
    const world = new ManualWorld();
    const disk = new TestDisk();
    const told: unknown[] = [];
    const fault = new Error('EACCES: the checkpoint cannot be written');
    const threads = { start: () => ({ result: Promise.reject(fault), stop: async () => undefined }) };
    const sizes = { segmentBytes: 64 * KIB, compactionBytesMin: 1 };
    const engine = fileEngine({ dir: '/data', files: disk, threads, ...sizes });
    const options = { onCompactionFault: (why: unknown) => told.push(why) };
    const lh = await world.finish(openWith(engine, world, options));
    const create = () => world.finish(lh.call('task.create', { payload: 'x'.repeat(10_000) }));
    for (let number = 0; number < 20; number++) await create();
    expect(told).toEqual([fault]);
    await world.advance(60_000);
    await create();
    await world.settle();
    expect(told).toEqual([fault, fault]);
    await world.finish(lh.close());
    expect(told).toHaveLength(2);
  });
});
