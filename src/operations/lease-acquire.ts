/** Acquiring named leases: `lease.acquire` for one name, `lease.acquire_all` for several, all or none. */
import { type Static, Type } from '@sinclair/typebox';
import type { GrantedName } from '../core/answers.ts';
import type { AcquireNames } from '../core/commands.ts';
import { invalid, isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { ORCHESTRATOR_NAMES } from '../core/reserved-names.ts';
import { instant } from '../protocol/instant.ts';
import { LIMITS } from '../protocol/limits.ts';
import { granted, REPORT, TOKEN } from './example-story.ts';
import {
  fields,
  Holder,
  LeaseName,
  NewToken,
  note,
  Opaque,
  Seq as Position,
  TtlMs,
  WaitMs,
} from './fields.ts';
import { wrap } from './opaque-values.ts';
import { change, type ExtraScope } from './operation.ts';
import { Duplicate, Instant, RemainingMs, Seq, Text } from './reply-fields.ts';
import { tokenHash } from './token-hashes.ts';

const GRANT = {
  name: note(Text, 'the name that is leased'),
  holder: note(Text, 'its holder'),
  token: Type.String({ description: 'the secret of this grant' }),
  lease_seq: note(Seq, 'the fencing number of this grant'),
  acquired_at: note(Instant, 'when it was granted'),
  expires_at: note(Instant, 'when it ends unless it is renewed'),
  remaining_ms: RemainingMs,
  object_id: note(Text, 'the name, under its field name in fenced writes'),
  holder_id: note(Text, 'the holder, under its field name in fenced writes'),
};
export const GrantedLease = Type.Object(GRANT);
export const AcquiredLease = Type.Object({ ...GRANT, seq: Seq, duplicate: Duplicate });

const ADMIN: ExtraScope = {
  scope: 'v1:admin',
  detail: `Acquiring names that begin with ${ORCHESTRATOR_NAMES} needs the scope v1:admin.`,
};

/** Acquiring the guard of an orchestrator needs more than v1:write. */
function orchestratorNames(...names: readonly string[]): ExtraScope | null {
  return names.some((name) => name.startsWith(ORCHESTRATOR_NAMES)) ? ADMIN : null;
}

const Metadata = Type.Optional(note(Opaque, 'Shown to callers that read the lease.'));

export const acquireLease = change({
  name: 'lease.acquire',
  method: 'POST',
  path: '/v1/leases/{name}/acquire',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: { fills: 'token' }, // The same holder and token are the same grant.
  refusedWhenFull: true,
  grants: true,
  needsToken: true,
  does: 'Acquire a named lease; with wait_ms, wait in line for it.',
  details: `A new grant to the same holder fences out its older grant. Renewing and releasing need the \`token\`. \`object_id\`
and \`holder_id\` are \`name\` and \`holder\` under the names that [fenced writes](#objectwrite) use.

\`LEASE_NOT_HELD\`: the token belongs to an earlier grant. \`LEASE_NOT_FOUND\` (not held) and \`LEASE_NOT_CURRENT\` (another
grant is live) occur with \`supersedes\` only; \`FORBIDDEN\` with \`supersedes\` and with guards.

#### Guards and scopes

The holder of a lease is public, and the same holder may acquire it again. Names that begin with \`system:\` are for guards and
need more, so that a token with \`v1:write\` cannot depose a guard:

| call on a name that begins with \`system:\` | scope |
|---|---|
| acquire it while it is free, or again with holder and token of the live grant | \`v1:write\` |
| acquire it again, while it is live, with its holder and another token or none | \`v1:admin\` |
| acquire one that begins with \`system:orchestrator:\`, live or not | \`v1:admin\` |
| renew or release it with its token | \`v1:write\` |
| break it, as any name | \`v1:admin\` |`,
  request: fields({
    name: LeaseName,
    holder: Holder,
    ttl_ms: TtlMs,
    token: Type.Optional(NewToken),
    wait_ms: Type.Optional(WaitMs),
    metadata: Metadata,
    supersedes: Type.Optional(
      note(
        Position,
        'The lease_seq of the grant to replace, whose holder is known to be dead: that grant ends and the new one ' +
          'begins in one entry, or nothing changes. Needs the scope v1:admin.',
      ),
    ),
  }),
  reply: AcquiredLease,
  refusals: [
    'FORBIDDEN',
    'LEASE_NOT_FOUND',
    'LEASE_NOT_CURRENT',
    'LEASE_HELD',
    'LEASE_NOT_HELD',
    'DISK_FULL',
  ],
  example: {
    request: { ...REPORT, ttl_ms: 15_000, token: TOKEN, wait_ms: 20_000, metadata: { pid: 4711 } },
    reply: { ...granted(REPORT.name), seq: 46 },
  },
  extraScope: ({ name, supersedes }) => {
    const extra = orchestratorNames(name);
    if (extra !== null || supersedes === undefined) return extra;
    return { scope: 'v1:admin', detail: 'The field supersedes needs the scope v1:admin.' };
  },
  command(request, token, _, isAdmin) {
    const command = acquire([request.name], request, token, isAdmin);
    if (isRefusal(command) || request.supersedes === undefined) return command;
    return { ...command, supersedes: request.supersedes };
  },
  body: ({ leases, seq, duplicate }, token) => acquired(leases[0]!, token, seq, duplicate),
});

export const acquireAll = change({
  name: 'lease.acquire_all',
  method: 'POST',
  path: '/v1/leases/acquire',
  scope: 'v1:write',
  status: 200,
  retry: { fills: 'token' },
  refusedWhenFull: true,
  grants: true,
  needsToken: true,
  does: 'Acquire several named leases, all or none, in one entry.',
  details: `One \`token\` and one \`lease_seq\` for all names; each is renewed and released separately.
\`FORBIDDEN\`: [guards](#guards-and-scopes).`,
  request: fields({
    names: Type.Array(LeaseName, {
      minItems: 1,
      maxItems: LIMITS.namesMax,
      description: 'The names to lease, each of them once: all or none.',
    }),
    holder: Holder,
    ttl_ms: TtlMs,
    token: Type.Optional(note(NewToken, NewToken.description!.replace('grant', 'grants'))),
    wait_ms: Type.Optional(WaitMs),
    metadata: Metadata,
  }),
  reply: Type.Object({ leases: Type.Array(GrantedLease), seq: Seq, duplicate: Duplicate }),
  refusals: ['FORBIDDEN', 'LEASE_HELD', 'LEASE_NOT_HELD', 'DISK_FULL'],
  example: {
    request: { names: ['printer', 'scanner'], holder: 'host-1', ttl_ms: 15_000, token: TOKEN },
    reply: { leases: [granted('printer'), granted('scanner')], seq: 46 },
  },
  extraScope: ({ names }) => orchestratorNames(...names),
  command(request, token, _, isAdmin) {
    const names = [...request.names];
    // Not in the schema: its check takes a hundred milliseconds for a thousand long names.
    if (new Set(names).size < names.length) return invalid('The field names has a name twice.');
    return acquire(names, request, token, isAdmin);
  },
  body({ leases, seq, duplicate }, token) {
    const body = { ok: true as const, leases: leases.map((lease) => grantOf(lease, token)), seq };
    return duplicate ? { ...body, duplicate: true as const } : body;
  },
});

interface AcquireRequest {
  readonly holder: string;
  readonly ttl_ms: number;
  readonly wait_ms?: number;
  readonly metadata?: unknown;
}

function acquire(
  names: readonly string[],
  request: AcquireRequest,
  token: string,
  isAdmin: boolean,
): AcquireNames | Refusal {
  const metadata = request.metadata === undefined ? null : wrap('metadata', request.metadata);
  if (metadata !== null && isRefusal(metadata)) return metadata;
  return {
    type: 'AcquireNames',
    names,
    holder: request.holder,
    tokenHash: tokenHash(token),
    ttlMs: request.ttl_ms,
    waitMs: request.wait_ms ?? 0,
    metadata,
    isAdmin,
  };
}

export function acquired(
  lease: GrantedName,
  token: string,
  seq: number,
  duplicate: boolean,
): { readonly ok: true } & Static<typeof AcquiredLease> {
  const body = {
    ok: true as const,
    name: lease.name,
    holder: lease.holder,
    token,
    lease_seq: lease.leaseSeq,
    acquired_at: instant(lease.acquiredAtMs),
    expires_at: instant(lease.expiresAtMs),
    remaining_ms: lease.remainingMs,
    object_id: lease.name,
    holder_id: lease.holder,
    seq,
  };
  return duplicate ? { ...body, duplicate: true as const } : body;
}

function grantOf(lease: GrantedName, token: string): Static<typeof GrantedLease> {
  return {
    name: lease.name,
    holder: lease.holder,
    token,
    lease_seq: lease.leaseSeq,
    acquired_at: instant(lease.acquiredAtMs),
    expires_at: instant(lease.expiresAtMs),
    remaining_ms: lease.remainingMs,
    object_id: lease.name,
    holder_id: lease.holder,
  };
}
