/** Named leases: at most one live holder a name. */
import { history, touchesName } from '../authority/history.ts';
import { listLeases, readName } from '../authority/reads.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Reads } from '../protocol/requests.ts';
import { type EntryListing, entryBodies } from './entry-bodies.ts';
import { openAll } from './opening.ts';
import type { Operator, Reply, Run } from './operator.ts';
import { type LeaseRecord, leaseRecord } from './records.ts';

export interface LeaseListing {
  readonly ok: true;
  readonly leases: readonly LeaseRecord[];
  readonly next_cursor?: string;
}

const NOT_FOUND: Refusal = { refused: 'LEASE_NOT_FOUND' };

export class Leases {
  readonly acquire: Run<'lease.acquire'>;
  /** All of the names or none. */
  readonly acquireAll: Run<'lease.acquire_all'>;
  readonly renew: Run<'lease.renew'>;
  readonly release: Run<'lease.release'>;
  readonly break: Run<'lease.break'>;
  readonly wipe: Run<'lease.wipe'>;
  private readonly operator: Operator;

  constructor(operator: Operator) {
    this.operator = operator;
    this.acquire = operator.prepare('lease.acquire');
    this.acquireAll = operator.prepare('lease.acquire_all');
    this.renew = operator.prepare('lease.renew');
    this.release = operator.prepare('lease.release');
    this.break = operator.prepare('lease.break');
    this.wipe = operator.prepare('lease.wipe');
  }

  get(request: Reads['lease.get']): Promise<Reply<LeaseRecord>> {
    return this.operator.read('lease.get', request, async () => {
      const { authority } = this.operator;
      const [image, nowMs] = await authority.read(
        (machine) => [readName(machine, request.name), machine.batchAtMs] as const,
      );
      if (image === null || image.end !== 'live') return NOT_FOUND;
      return leaseRecord(image, nowMs, await openAll(authority.log, [image.metadata]));
    });
  }

  list(request: Reads['lease.list'] = {}): Promise<Reply<LeaseListing>> {
    return this.operator.read('lease.list', request, async () => {
      const { authority } = this.operator;
      const { prefix = '', limit = 100, cursor = '0' } = request;
      const [{ items, next }, nowMs] = await authority.read(
        (machine) => [listLeases(machine, prefix, limit, Number(cursor)), machine.batchAtMs] as const,
      );
      const open = await openAll(
        authority.log,
        items.map((image) => image.metadata),
      );
      const leases = items.map((image) => leaseRecord(image, nowMs, open));
      return { ok: true, leases, ...(next === null ? {} : { next_cursor: String(next) }) };
    });
  }

  /** Every entry that touched the name, as far back as the log reaches. */
  history(request: Reads['lease.history']): Promise<Reply<EntryListing>> {
    return this.operator.read('lease.history', request, async () => {
      const { authority } = this.operator;
      const image = await authority.read((machine) => readName(machine, request.name));
      if (image === null) return NOT_FOUND;
      const { log } = authority;
      const found = await history(log, 1, image.lastSeq, touchesName(request.name));
      return { ok: true, entries: await entryBodies(log, found) };
    });
  }
}
