/** The log entries of a name since one of its leases was granted, in order; empty once the name is forgotten. */

import type { EntryRecord } from '../operations/records.ts';
import type { Body } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Reply } from '../protocol/problem.ts';
import type { Transport } from './transport.ts';

export async function* historySince(
  ask: Transport['call'],
  name: string,
  leaseSeq: number,
): AsyncGenerator<EntryRecord> {
  let cursor: string | undefined;
  do {
    const page: Reply<Body<'lease.history'>> = await ask('lease.history', {
      name,
      ...(cursor === undefined ? { from: leaseSeq } : { cursor }),
    });
    if (!page.ok) {
      if (page.code === 'LEASE_NOT_FOUND') return;
      throw LeaseholdError.of(page);
    }
    yield* page.entries;
    cursor = page.next_cursor;
  } while (cursor !== undefined);
}
