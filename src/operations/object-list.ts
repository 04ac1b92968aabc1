/** `object.list`: the objects that are stored, with their fences and without their values. */
import { Type } from '@sinclair/typebox';
import { listObjects } from '../authority/reads.ts';
import { REPORT } from './example-story.ts';
import { Cursor, fields, Limit, note, Prefix, stale } from './fields.ts';
import { stateRead } from './operation.ts';
import { Flag, NextCursor, Seq, Text, Whole } from './reply-fields.ts';

export const listAllObjects = stateRead({
  name: 'object.list',
  path: '/v1/objects',
  long: 'list',
  does: 'List objects with their versions and fences, page by page, without their values.',
  details: `The order is unspecified. A page may be empty and still have a \`next_cursor\`.`,
  request: fields({
    prefix: Type.Optional(Prefix),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
    stale,
  }),
  reply: Type.Object({
    objects: Type.Array(
      Type.Object({
        object_id: note(Text, 'the name of the object'),
        version: note(Whole, 'how often it was changed'),
        lease_seq: note(Seq, 'the lease under which it was last changed'),
        fence: note(Seq, 'the highest number granted for its name: writes under lower ones are refused'),
        held: note(Flag, 'whether its name is leased now'),
        seq: note(Seq, 'the entry that last changed it'),
      }),
    ),
    next_cursor: NextCursor,
  }),
  refusals: [],
  example: {
    request: { prefix: 'nightly-', limit: 100 },
    reply: {
      objects: [{ object_id: REPORT.name, version: 1, lease_seq: 46, fence: 46, held: true, seq: 47 }],
    },
  },
  async look({ prefix = '', limit = 100, cursor = '0' }, { source }) {
    const { items, next } = await source.read((view) => listObjects(view, prefix, limit, Number(cursor)));
    const objects = items.map(({ name, leaseSeq, end, object }) => ({
      object_id: name,
      version: object.version,
      lease_seq: object.leaseSeq,
      fence: leaseSeq,
      held: end === 'live',
      seq: object.seq,
    }));
    return { ok: true, objects, ...(next === null ? {} : { next_cursor: String(next) }) };
  },
});
