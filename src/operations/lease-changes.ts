/** What happens to a named lease after its grant: `lease.renew`, `lease.release`, `lease.break`, `lease.wipe`. */
import { Type } from '@sinclair/typebox';
import type { BreakName, ReleaseName, RenewName, WipeNames } from '../core/commands.ts';
import { SESSION_LEASES } from '../core/reserved-names.ts';
import { GUARD, granted, REPORT, TOKEN } from './example-story.ts';
import {
  fields,
  Holder,
  LeaseName,
  note,
  Seq as Position,
  Prefix,
  Reason,
  ShownToken,
  TtlMs,
} from './fields.ts';
import { GuardField, guardOf } from './guards.ts';
import { AcquiredLease, acquired } from './lease-acquire.ts';
import { change } from './operation.ts';
import { Flag, Seq, Text, Whole } from './reply-fields.ts';
import { tokenHash } from './token-hashes.ts';

export const renewLease = change({
  name: 'lease.renew',
  method: 'POST',
  path: '/v1/leases/{name}/renew',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe',
  urgent: true,
  renews: true,
  grants: true,
  does: 'Renew a named lease. Never shortens, never resurrects.',
  details: `\`token\` and \`lease_seq\` stay the same.`,
  request: fields({
    name: LeaseName,
    holder: Holder,
    token: ShownToken,
    ttl_ms: TtlMs,
    last: Type.Optional(
      Type.Boolean({
        description:
          'The holder will not renew again: the lease is meant to expire, and `GET /v1/overview` does not count that as an incident. Soft state.',
      }),
    ),
  }),
  reply: AcquiredLease,
  refusals: ['LEASE_EXPIRED', 'LEASE_NOT_HELD'],
  example: {
    request: { ...REPORT, token: TOKEN, ttl_ms: 15_000 },
    reply: { ...granted(REPORT.name), expires_at: '2026-01-05T08:01:20.000Z', seq: 51 },
  },
  command: ({ name, holder, token, ttl_ms, last = false }): RenewName => ({
    type: 'RenewName',
    name,
    holder,
    tokenHash: tokenHash(token),
    ttlMs: ttl_ms,
    isLast: last,
  }),
  body: ({ leases, seq, duplicate }, token) => acquired(leases[0]!, token, seq, duplicate),
});

export const releaseLease = change({
  name: 'lease.release',
  method: 'POST',
  path: '/v1/leases/{name}/release',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe', // Idempotent; the second answer says released: false.
  urgent: true,
  does: 'Release a named lease. Idempotent.',
  request: fields({ name: LeaseName, holder: Holder, token: ShownToken }),
  reply: Type.Object({
    released: note(Flag, 'false for a wrong token, a wrong holder, or a lease that is over'),
    seq: Seq,
  }),
  refusals: [],
  example: { request: { ...REPORT, token: TOKEN }, reply: { released: true, seq: 52 } },
  command: ({ name, holder, token }): ReleaseName => ({
    type: 'ReleaseName',
    name,
    holder,
    tokenHash: tokenHash(token),
  }),
  body: ({ released, seq }) => ({ ok: true, released, seq }),
});

export const breakLease = change({
  name: 'lease.break',
  method: 'POST',
  path: '/v1/leases/{name}/break',
  scope: 'v1:admin',
  status: 200,
  // Without the number a second try could end the lease of the next holder.
  retry: { needs: 'lease_seq', looks: true },
  does: 'End a named lease at once, against its holder; only that grant when lease_seq is given.',
  request: fields({
    name: LeaseName,
    reason: Reason,
    lease_seq: Type.Optional(note(Position, 'End only the grant with this number.')),
  }),
  reply: Type.Object({
    name: note(Text, 'the name that was leased'),
    holder: note(Text, 'its holder'),
    lease_seq: note(Seq, 'the fencing number of the grant that was ended'),
    seq: Seq,
  }),
  refusals: ['LEASE_NOT_FOUND', 'LEASE_NOT_CURRENT'],
  example: {
    request: { name: REPORT.name, reason: 'host-1 is being replaced.', lease_seq: 46 },
    reply: { ...REPORT, lease_seq: 46, seq: 53 },
  },
  command: ({ name, reason, lease_seq }): BreakName => ({
    type: 'BreakName',
    name,
    reason,
    leaseSeq: lease_seq ?? null,
  }),
  body: ({ name, holder, leaseSeq, seq }) => ({ ok: true, name, holder, lease_seq: leaseSeq, seq }),
});

export const wipeLeases = change({
  name: 'lease.wipe',
  method: 'POST',
  path: '/v1/leases/wipe',
  scope: 'v1:write',
  status: 200,
  // An ended lease cannot end again; only the holder of the guard may wipe, and it waits for the answer.
  retry: 'safe',
  does: 'End every named lease under a prefix except guards, in one entry. Only for the holder of the guard.',
  details: `Names under \`system:\` are not wiped.`,
  request: fields({ prefix: Prefix, guard: GuardField }),
  reply: Type.Object({ wiped: note(Whole, 'how many leases were ended'), seq: Seq }),
  refusals: ['GUARD_NOT_HELD'],
  example: { request: { prefix: SESSION_LEASES, guard: GUARD }, reply: { wiped: 4, seq: 54 } },
  command: ({ prefix, guard }): WipeNames => ({ type: 'WipeNames', prefix, guard: guardOf(guard) }),
  body: ({ wiped, seq }) => ({ ok: true, wiped, seq }),
});
