/** The fields of replies that many operations share. In process and in the client each reply also has `ok: true`. */
import { Type } from '@sinclair/typebox';
import type { Json } from '../protocol/json.ts';
import { OPAQUE } from './fields.ts';

export const Text = Type.String();
export const Whole = Type.Integer({ minimum: 0 });
export const Flag = Type.Boolean();
export const Instant = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC, with milliseconds',
});
export const Seq = Type.Integer({ minimum: 0, description: 'a position in the log' });
export const RemainingMs = Type.Integer({
  description: 'the remaining time; use this, never the instant',
});
export const Duplicate = Type.Optional(
  Type.Literal(true, { description: 'repeats an earlier answer; nothing was changed' }),
);
export const CancelRequested = Type.Optional(
  Type.Literal(true, {
    description: 'cancellation was requested; the task ends with its lease unless it is completed',
  }),
);
export const NextCursor = Type.Optional(
  Type.String({
    description:
      'there is more: send it as cursor. A page may be short and still have one; without it, this page is the last',
  }),
);

export const Key = Type.Optional(Type.String({ description: 'its key, for limits and turns' }));
export const Trace = Type.Optional(
  Type.Object(
    { traceparent: Text, tracestate: Type.Optional(Text) },
    { description: 'the trace context that its creator gave' },
  ),
);

/** Any JSON, byte for byte as it came in. */
export const Opaque = Type.Unsafe<Json>({
  [OPAQUE]: true,
  description: 'opaque JSON, byte for byte as it came in',
} as object);
/** Null when the bytes were damaged on the disk. */
export const Kept = Type.Unsafe<Json | null>({
  [OPAQUE]: true,
  description: 'opaque JSON, byte for byte as it came in; null when its bytes were damaged on the disk',
} as object);

export const TASK_STATES = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const;
export const TaskState = Type.Union(TASK_STATES.map((state) => Type.Literal(state)));
