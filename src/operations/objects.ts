/** Fenced objects: `object.write`, `object.get`, `object.delete`; and `receipt.list`, the refused writes. */
import { Type } from '@sinclair/typebox';
import { readName } from '../authority/reads.ts';
import type { DeleteObject, WriteObject } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { instant } from '../protocol/instant.ts';
import { REPORT, WRITE_LEASE } from './example-story.ts';
import { FenceLease, presented, WRITE_REFUSALS } from './fenced-writes.ts';
import { fields, Limit, note, ObjectId, Opaque, Seq as Position, stale } from './fields.ts';
import { wrap } from './opaque-values.ts';
import { openAll } from './opening.ts';
import { change, leaderRead, stateRead } from './operation.ts';
import { Instant, Kept, Seq, Text, Whole } from './reply-fields.ts';

export const WrittenObject = Type.Object({
  object_id: note(Text, 'the name of the object'),
  version: note(Whole, 'its version after this change'),
  lease_seq: note(Seq, 'the lease under which it was changed'),
  seq: Seq,
});

const IfVersion = Type.Optional(
  note(Position, 'Only if the object has this version; 0: only if there is none.'),
);

export const writeObject = change({
  name: 'object.write',
  method: 'PUT',
  path: '/v1/objects/{object_id}',
  scope: 'v1:write',
  status: 200,
  batch: true,
  // Without the version a second try could undo a write in between.
  retry: { needs: 'if_version', looks: true },
  refusedWhenFull: true,
  does: 'Write an object under its lease. The first fence check that fails refuses the write.',
  details: `\`LEASE_EXPIRED\` is 412 here.`,
  request: fields({
    object_id: ObjectId,
    value: note(Opaque, 'What to write.'),
    lease: FenceLease,
    if_version: IfVersion,
  }),
  reply: WrittenObject,
  refusals: [...WRITE_REFUSALS, 'VERSION_MISMATCH', 'DISK_FULL'],
  example: {
    request: { object_id: REPORT.name, value: { pages: 12 }, lease: WRITE_LEASE, if_version: 0 },
    reply: { object_id: REPORT.name, version: 1, lease_seq: 46, seq: 47 },
  },
  command(request): WriteObject | Refusal {
    const value = wrap('value', request.value);
    if (isRefusal(value)) return value;
    return {
      type: 'WriteObject',
      objectId: request.object_id,
      value,
      lease: presented(request.lease),
      ifVersion: request.if_version ?? null,
    };
  },
  body: ({ objectId, version, leaseSeq, seq }) => ({
    ok: true,
    object_id: objectId,
    version,
    lease_seq: leaseSeq,
    seq,
  }),
});

export const deleteObject = change({
  name: 'object.delete',
  method: 'DELETE',
  path: '/v1/objects/{object_id}',
  scope: 'v1:write',
  status: 200,
  retry: { needs: 'if_version', looks: true },
  does: 'Delete an object under its lease, by the same checks as a write.',
  details: `Versions continue with the next write, as long as the name is not forgotten. \`LEASE_EXPIRED\` is
412 here.`,
  request: fields({ object_id: ObjectId, lease: FenceLease, if_version: IfVersion }),
  reply: WrittenObject,
  refusals: [...WRITE_REFUSALS, 'VERSION_MISMATCH', 'OBJECT_NOT_FOUND'],
  example: {
    request: { object_id: REPORT.name, lease: WRITE_LEASE, if_version: 1 },
    reply: { object_id: REPORT.name, version: 2, lease_seq: 46, seq: 48 },
  },
  command: (request): DeleteObject => ({
    type: 'DeleteObject',
    objectId: request.object_id,
    lease: presented(request.lease),
    ifVersion: request.if_version ?? null,
  }),
  body: ({ objectId, version, leaseSeq, seq }) => ({
    ok: true,
    object_id: objectId,
    version,
    lease_seq: leaseSeq,
    seq,
  }),
});

export const getObject = stateRead({
  name: 'object.get',
  path: '/v1/objects/{object_id}',
  long: 'record',
  does: 'Show an object.',
  details: `Reading needs no lease.`,
  request: fields({ object_id: ObjectId, stale }),
  reply: Type.Object({
    object_id: note(Text, 'the name of the object'),
    value: Kept,
    version: note(Whole, 'how often it was changed'),
    lease_seq: note(Seq, 'the lease under which it was last changed'),
    seq: note(Seq, 'the entry that last changed it'),
  }),
  refusals: ['OBJECT_NOT_FOUND'],
  example: {
    request: { object_id: REPORT.name },
    reply: { object_id: REPORT.name, value: { pages: 12 }, version: 1, lease_seq: 46, seq: 47 },
  },
  async look({ object_id: objectId }, { source }, { room }) {
    const image = await source.read((view) => readName(view, objectId));
    const object = image?.object ?? null;
    if (object === null) return { refused: 'OBJECT_NOT_FOUND' };
    const { value, version, leaseSeq, seq } = object;
    const open = await openAll(source.log, [value], room);
    return { ok: true, object_id: objectId, value: open(value), version, lease_seq: leaseSeq, seq };
  },
});

export const Receipt = Type.Object({
  code: note(Text, 'the check that refused the write'),
  object_id: note(Text, 'the object of the write'),
  presented_lease_seq: Type.Union([Seq, Type.Null()], { description: 'the number it presented, if any' }),
  current_fence: note(Seq, 'the fence of the object'),
  holder_id: Type.Union([Text, Type.Null()], { description: 'the holder it presented, if any' }),
  at: Instant,
  requestId: Type.Union([Text, Type.Null()], { description: 'the id of the refused request' }),
});

export const listReceipts = leaderRead({
  name: 'receipt.list',
  path: '/v1/receipts',
  long: 'list',
  does: 'List refused writes, newest first. Soft state: they do not survive a restart.',
  details: `Writes refused by the first six fence checks. The newest 10 000 are kept, in memory only. \`code\` is one of those six; any other
is 400.`,
  request: fields({
    object_id: Type.Optional(note(ObjectId, 'Only writes to this object.')),
    code: Type.Optional(
      Type.Union(
        WRITE_REFUSALS.map((code) => Type.Literal(code)),
        { description: 'Only refusals with this code.' },
      ),
    ),
    limit: Type.Optional(note(Limit, 'How many at most; 100 by default.')),
    stale,
  }),
  reply: Type.Object({ receipts: Type.Array(Receipt) }),
  refusals: [],
  example: {
    request: { object_id: REPORT.name, code: 'WRITE_STALE_FENCE', limit: 10 },
    reply: {
      receipts: [
        {
          code: 'WRITE_STALE_FENCE',
          object_id: REPORT.name,
          presented_lease_seq: 31,
          current_fence: 46,
          holder_id: 'host-0',
          at: '2026-01-05T08:01:03.500Z',
          requestId: 'f3b0c1d2',
        },
      ],
    },
  },
  async look({ object_id: objectId = null, code = null, limit = 100 }, { authority }) {
    // Queued with the changes: a receipt names a fence whose grant may not be durable yet.
    const receipts = await authority.read(() => authority.soft.receipts.list(objectId, code, limit));
    return {
      ok: true,
      receipts: receipts.map((receipt) => ({
        code: receipt.code,
        object_id: receipt.objectId,
        presented_lease_seq: receipt.presentedLeaseSeq,
        current_fence: receipt.currentFence,
        holder_id: receipt.holderId,
        at: instant(receipt.atMs),
        requestId: receipt.requestId,
      })),
    };
  },
});
