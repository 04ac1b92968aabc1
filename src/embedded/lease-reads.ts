/** Looking at named leases and fenced objects. */
import type { Authority } from '../authority/authority.ts';
import { history, touchesName } from '../authority/history.ts';
import { listLeases, readName } from '../authority/reads.ts';
import type { Refusal } from '../core/refusals.ts';
import { entryBodies } from './entry-bodies.ts';
import { openAll } from './opening.ts';
import type { Reads } from './reads.ts';
import { leaseRecord, objectRecord, receiptRecord } from './records.ts';

type LeaseReads = 'lease.get' | 'lease.list' | 'lease.history' | 'object.get' | 'receipt.list';

const LEASE_NOT_FOUND: Refusal = { refused: 'LEASE_NOT_FOUND' };
const OBJECT_NOT_FOUND: Refusal = { refused: 'OBJECT_NOT_FOUND' };

export function leaseReads(authority: Authority): Pick<Reads, LeaseReads> {
  const { log } = authority;
  return {
    async 'lease.get'({ name }) {
      const [image, nowMs] = await authority.read(
        (machine) => [readName(machine, name), machine.batchAtMs] as const,
      );
      if (image === null || image.end !== 'live') return LEASE_NOT_FOUND;
      return { ok: true, ...leaseRecord(image, nowMs, await openAll(log, [image.metadata])) };
    },

    async 'lease.list'({ prefix = '', limit = 100, cursor = '0' }) {
      const [{ items, next }, nowMs] = await authority.read(
        (machine) => [listLeases(machine, prefix, limit, Number(cursor)), machine.batchAtMs] as const,
      );
      const metadata = items.map((image) => image.metadata);
      const open = await openAll(log, metadata);
      const leases = items.map((image) => leaseRecord(image, nowMs, open));
      return { ok: true, leases, ...(next === null ? {} : { next_cursor: String(next) }) };
    },

    async 'lease.history'({ name }) {
      const image = await authority.read((machine) => readName(machine, name));
      if (image === null) return LEASE_NOT_FOUND;
      const found = await history(log, 1, image.lastSeq, touchesName(name));
      return { ok: true, entries: await entryBodies(log, found) };
    },

    async 'object.get'({ object_id: objectId }) {
      const image = await authority.read((machine) => readName(machine, objectId));
      const object = image?.object ?? null;
      if (object === null) return OBJECT_NOT_FOUND;
      return { ok: true, ...objectRecord(objectId, object, await openAll(log, [object.value])) };
    },

    /** Refused writes, newest first. Evidence, not truth: they do not survive a restart. */
    async 'receipt.list'({ object_id: objectId = null, code = null, limit = 100 }) {
      // In line with the changes: a receipt names a fence, which may have been granted in a batch not durable yet.
      const receipts = await authority.read(() => authority.soft.receipts.list(objectId, code, limit));
      return { ok: true, receipts: receipts.map(receiptRecord) };
    },
  };
}
