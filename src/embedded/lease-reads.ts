/** Looking at named leases and fenced objects. */
import { listLeases, readName } from '../authority/reads.ts';
import type { Refusal } from '../core/refusals.ts';
import { openAll } from './opening.ts';
import type { Reads, StateSource } from './reads.ts';
import { leaseRecord, objectRecord } from './records.ts';

type LeaseReads = 'lease.get' | 'lease.list' | 'object.get';

const LEASE_NOT_FOUND: Refusal = { refused: 'LEASE_NOT_FOUND' };
const OBJECT_NOT_FOUND: Refusal = { refused: 'OBJECT_NOT_FOUND' };

export function leaseReads(source: StateSource): Pick<Reads, LeaseReads> {
  const { log } = source;
  return {
    async 'lease.get'({ name }, { room } = {}) {
      const [image, nowMs] = await source.read(
        (machine) => [readName(machine, name), machine.batchAtMs] as const,
      );
      if (image === null || image.end !== 'live') return LEASE_NOT_FOUND;
      return { ok: true, ...leaseRecord(image, nowMs, await openAll(log, [image.metadata], room)) };
    },

    async 'lease.list'({ prefix = '', limit = 100, cursor = '0' }) {
      const [{ items, next }, nowMs] = await source.read(
        (machine) => [listLeases(machine, prefix, limit, Number(cursor)), machine.batchAtMs] as const,
      );
      const metadata = items.map((image) => image.metadata);
      const open = await openAll(log, metadata);
      const leases = items.map((image) => leaseRecord(image, nowMs, open));
      return { ok: true, leases, ...(next === null ? {} : { next_cursor: String(next) }) };
    },

    async 'object.get'({ object_id: objectId }, { room } = {}) {
      const image = await source.read((machine) => readName(machine, objectId));
      const object = image?.object ?? null;
      if (object === null) return OBJECT_NOT_FOUND;
      return { ok: true, ...objectRecord(objectId, object, await openAll(log, [object.value], room)) };
    },
  };
}
