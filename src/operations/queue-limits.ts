/** `queue.limit`: how much of a queue may be leased at once, and in a given time. */
import { type TSchema, Type } from '@sinclair/typebox';
import type { LimitQueue } from '../core/commands.ts';
import type { Limits } from '../core/limits.ts';
import { LIMITS } from '../protocol/limits.ts';
import { Count, fields, note, Queue } from './fields.ts';
import { change } from './operation.ts';
import { Flag, Seq, Text, Whole } from './reply-fields.ts';

const MAX_LEASED = 'The maximum number of live leases';

const removable = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description: `${description}; null removes it.` }));

const Rate = Type.Object(
  {
    count: Type.Integer({
      minimum: 1,
      maximum: LIMITS.rateCountMax,
      description: 'The maximum number of grants in any interval of `per_ms`.',
    }),
    per_ms: Type.Integer({
      minimum: 1,
      maximum: LIMITS.ratePerMaxMs,
      description: 'The length of the interval.',
    }),
    per_key: Type.Optional(
      Type.Boolean({ description: 'Whether the rate applies to each key separately; false by default.' }),
    ),
  },
  { additionalProperties: false },
);

export const ShownLimits = Type.Object({
  max_leased: Type.Optional(note(Whole, 'the maximum number of live leases of the queue')),
  max_leased_per_key: Type.Optional(note(Whole, 'the maximum number of live leases of each key')),
  rate: Type.Optional(
    Type.Object(
      {
        count: note(Whole, 'the maximum number of grants in any interval'),
        per_ms: note(Whole, 'the length of the interval'),
        per_key: note(Flag, 'whether it applies to each key separately'),
      },
      { description: 'the rate of grants' },
    ),
  ),
  applied: Type.Optional(note(Flag, 'true when they come from the definition of a task')),
});

export function limitsBody({ maxLeased, maxLeasedPerKey, rate, applied }: Limits) {
  return {
    ...(maxLeased === null ? {} : { max_leased: maxLeased }),
    ...(maxLeasedPerKey === null ? {} : { max_leased_per_key: maxLeasedPerKey }),
    ...(rate === null ? {} : { rate: { count: rate.count, per_ms: rate.perMs, per_key: rate.perKey } }),
    ...(applied ? { applied } : {}),
  };
}

export const limitQueue = change({
  name: 'queue.limit',
  method: 'PUT',
  path: '/v1/queues/{queue}/limits',
  scope: 'v1:admin',
  status: 200,
  retry: 'safe',
  refusedWhenFull: true,
  does: 'Set the limits of a queue. Fields that are absent stay as they are.',
  details: `Limits are exact: no position of the log has more live leases than allowed, and no half-open interval of \`per_ms\` has more than
\`count\` grants, by the \`at\` of \`LeaseGranted\`; a grant that was released counts. Limits of keys do not apply to tasks without \`key\`. A key at its
limit delays no other key. A limit that is lowered ends no lease. A rate counts the grants since it was set,
and those that the rate it replaces still counted unless \`per_key\` differs. Queues that begin with \`system:\` are refused with
\`FORBIDDEN\`.`,
  request: fields({
    queue: Queue,
    max_leased: removable(Count, `${MAX_LEASED} of the queue`),
    max_leased_per_key: removable(Count, `${MAX_LEASED} of each key`),
    rate: removable(Rate, 'The maximum rate of grants'),
    applied: Type.Optional(
      Type.Boolean({
        description:
          'Whether the limits come from the definition of a task: limits that an operator has set are then kept. False by default.',
      }),
    ),
  }),
  reply: Type.Object({
    queue: note(Text, 'the name of the queue'),
    limits: note(ShownLimits, 'all limits it has now'),
    kept: Type.Optional(note(Flag, 'true when limits that an operator has set were kept instead')),
    seq: Seq,
  }),
  refusals: ['FORBIDDEN', 'DISK_FULL'],
  example: {
    request: { queue: 'mail', max_leased_per_key: 1, rate: { count: 10, per_ms: 1_000 } },
    reply: {
      queue: 'mail',
      limits: { max_leased_per_key: 1, rate: { count: 10, per_ms: 1_000, per_key: false } },
      seq: 51,
    },
  },
  command: ({ queue, max_leased, max_leased_per_key, rate, applied }): LimitQueue => ({
    type: 'LimitQueue',
    queue,
    applies: applied ?? false,
    limits: {
      ...(max_leased === undefined ? {} : { maxLeased: max_leased }),
      ...(max_leased_per_key === undefined ? {} : { maxLeasedPerKey: max_leased_per_key }),
      ...(rate === undefined
        ? {}
        : {
            rate:
              rate === null ? null : { count: rate.count, perMs: rate.per_ms, perKey: rate.per_key ?? false },
          }),
    },
  }),
  body: ({ queue, limits, isSet, seq }) => ({
    ok: true,
    queue,
    limits: limitsBody(limits),
    ...(isSet ? {} : { kept: true }),
    seq,
  }),
});
