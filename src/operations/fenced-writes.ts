/** The lease that a fenced write presents, alone or inside a completion, and the refusals of such a write in order. */
import { type Static, Type } from '@sinclair/typebox';
import type { PresentedLease } from '../core/commands.ts';
import type { RefusalCode } from '../core/refusals.ts';
import { fields, Name, note, Seq } from './fields.ts';

/** In the order in which they are checked; each leaves a receipt. */
export const WRITE_REFUSALS = [
  'WRITE_UNFENCED',
  'LEASE_OBJECT_MISMATCH',
  'WRITE_STALE_FENCE',
  'WRITE_UNKNOWN_FENCE',
  'LEASE_HOLDER_MISMATCH',
  'LEASE_EXPIRED',
] as const satisfies readonly RefusalCode[];

const IGNORED = 'Ignored. Allowed so that the whole record of a lease can be sent.';

/** Without a lease, or with null in its place, a write is well formed and refused as unfenced. */
export const FenceLease = Type.Optional(
  Type.Union(
    [
      fields({
        lease_seq: Type.Optional(
          Type.Union([Seq, Type.Null()], { description: 'The fencing number of the lease.' }),
        ),
        object_id: Type.Optional(note(Name, 'The object of the lease; another object is refused.')),
        holder_id: Type.Optional(note(Name, 'The holder of the lease; another holder is refused.')),
        // Part of the record of a lease. Only the authority's clock decides whether a lease is over.
        acquired_at: Type.Optional(Type.String({ description: IGNORED })),
        expires_at: Type.Optional(Type.String({ description: IGNORED })),
      }),
      Type.Null(),
    ],
    { description: 'The lease under which to write: its lease_seq, and optional fields to check.' },
  ),
);

export function presented(lease: Static<typeof FenceLease> | undefined): PresentedLease | null {
  if (lease === undefined || lease === null) return null;
  return {
    leaseSeq: lease.lease_seq ?? null,
    objectId: lease.object_id ?? null,
    holderId: lease.holder_id ?? null,
  };
}
