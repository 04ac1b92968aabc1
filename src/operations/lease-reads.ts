/** Reading named leases: `lease.get`, `lease.list`. Tokens are never shown. */
import { type Static, Type } from '@sinclair/typebox';
import { listLeases, readName } from '../authority/reads.ts';
import type { NameImage } from '../core/image.ts';
import { instant } from '../protocol/instant.ts';
import { REPORT, REPORT_TIMES } from './example-story.ts';
import { Cursor, fields, Holder, LeaseName, Limit, note, Prefix, stale } from './fields.ts';
import { type OpenedBytes, openAll } from './opening.ts';
import { type Plain, stateRead } from './operation.ts';
import { Instant, Kept, NextCursor, RemainingMs, Seq, Text } from './reply-fields.ts';

export const Lease = Type.Object({
  name: note(Text, 'the name that is leased'),
  holder: note(Text, 'its holder'),
  lease_seq: note(Seq, 'the fencing number of the live grant'),
  acquired_at: note(Instant, 'when it was granted'),
  expires_at: note(Instant, 'when it ends unless it is renewed'),
  remaining_ms: RemainingMs,
  metadata: Type.Optional(Kept),
  seq: note(Seq, 'the newest entry that touched it'),
});

const LEASE: Plain<Static<typeof Lease>> = {
  ...REPORT,
  ...REPORT_TIMES,
  remaining_ms: 9_640,
  metadata: { pid: 4711 },
  seq: 46,
};

export const getLease = stateRead({
  name: 'lease.get',
  path: '/v1/leases/{name}',
  long: 'record',
  does: 'Show the holder of a name and the remaining time, never the token.',
  details: `\`LEASE_NOT_FOUND\`: the name is not held.`,
  request: fields({ name: LeaseName, stale }),
  reply: Lease,
  refusals: ['LEASE_NOT_FOUND'],
  example: { request: { name: REPORT.name }, reply: LEASE },
  async look({ name }, { source }, { room }) {
    const [image, nowMs] = await source.read((view) => [readName(view, name), view.batchAtMs] as const);
    if (image === null || image.end !== 'live') return { refused: 'LEASE_NOT_FOUND' };
    return { ok: true, ...leaseRecord(image, nowMs, await openAll(source.log, [image.metadata], room)) };
  },
});

export const listAllLeases = stateRead({
  name: 'lease.list',
  path: '/v1/leases',
  long: 'list',
  does: 'List live named leases, page by page.',
  details: `With \`holder\` the cost of a page depends only on what it returns. The order is unspecified.`,
  request: fields({
    prefix: Type.Optional(Prefix),
    holder: Type.Optional(note(Holder, 'Only leases of this holder.')),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
    stale,
  }),
  reply: Type.Object({ leases: Type.Array(Lease), next_cursor: NextCursor }),
  refusals: [],
  example: { request: { prefix: 'nightly-', limit: 100 }, reply: { leases: [LEASE] } },
  async look({ prefix = '', holder = null, limit = 100, cursor = '0' }, { source }) {
    const [{ items, next }, nowMs] = await source.read(
      (view) => [listLeases(view, prefix, holder, limit, Number(cursor)), view.batchAtMs] as const,
    );
    const open = await openAll(
      source.log,
      items.map((image) => image.metadata),
    );
    const leases = items.map((image) => leaseRecord(image, nowMs, open));
    return { ok: true, leases, ...(next === null ? {} : { next_cursor: String(next) }) };
  },
});

function leaseRecord(image: NameImage, nowMs: number, open: OpenedBytes): Static<typeof Lease> {
  return {
    name: image.name,
    holder: image.holder,
    lease_seq: image.leaseSeq,
    acquired_at: instant(image.acquiredAtMs),
    expires_at: instant(image.expiresAtMs),
    // A standby may show a lease whose expiry it has not read yet.
    remaining_ms: Math.max(0, image.expiresAtMs - nowMs),
    ...(image.metadata === null ? {} : { metadata: open(image.metadata) }),
    seq: image.lastSeq,
  };
}
