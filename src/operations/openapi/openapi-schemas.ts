/**
 * Our schemas as plain JSON Schema 2020-12, as OpenAPI 3.1 takes it: formats of our own are spelt out, what
 * many replies share has a name, and every field of a request says what it means.
 */
import type { TObject, TSchema } from '@sinclair/typebox';
import { REFUSALS } from '../../core/refusals.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { OPAQUE } from '../fields.ts';
import { Entries, Entry } from '../histories.ts';
import { AcquiredLease, GrantedLease } from '../lease-acquire.ts';
import { Lease } from '../lease-reads.ts';
import { Receipt, WrittenObject } from '../objects.ts';
import { QueueCounts, QueueSwitch } from '../queues.ts';
import { Session } from '../session-records.ts';
import { Status } from '../status.ts';
import { type AnyOperation, type BatchOperation, OPERATIONS, type Operation } from '../table.ts';
import { ExtendedLease } from '../task-extend.ts';
import { TaskLease } from '../task-lease.ts';
import { PastLease, Task } from '../task-reads.ts';
import { Verdict } from '../task-verdicts.ts';
import { Worker } from '../workers.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** Lengths are in characters here and in bytes there: a text within the bytes is always within the characters. */
const FORMATS: Readonly<Record<string, Schema>> = {
  name: {
    minLength: 1,
    maxLength: LIMITS.nameBytes,
    description: `1 to ${LIMITS.nameBytes} bytes of printable UTF-8 in NFC.`,
  },
  'lease-name': {
    minLength: 1,
    maxLength: LIMITS.nameBytes + 'lease:vod::9007199254740'.length,
    description: `1 to ${LIMITS.nameBytes} bytes of printable UTF-8 in NFC. In the lease of a session the target alone may have that length.`,
  },
  id: {
    minLength: 1,
    maxLength: LIMITS.nameBytes,
    pattern: '^[^/]+$',
    description: `1 to ${LIMITS.nameBytes} bytes of printable UTF-8 in NFC, without a slash.`,
  },
  reason: {
    minLength: 1,
    maxLength: LIMITS.reasonBytes,
    description: `1 to ${LIMITS.reasonBytes} bytes of UTF-8.`,
  },
  token: {
    minLength: LIMITS.tokenBytesMin,
    maxLength: LIMITS.nameBytes,
    pattern: '^[!-~]+$',
    description: `${LIMITS.tokenBytesMin} to ${LIMITS.nameBytes} visible ASCII characters, of at least 128 random bits.`,
  },
  shown: {
    minLength: 1,
    maxLength: LIMITS.nameBytes,
    pattern: '^[!-~]+$',
    description: `1 to ${LIMITS.nameBytes} visible ASCII characters.`,
  },
  profile: {
    minLength: 1,
    maxLength: LIMITS.nameBytes,
    pattern: '^[^|]+$',
    description: `1 to ${LIMITS.nameBytes} bytes of printable UTF-8 in NFC, without a bar.`,
  },
  session: {
    minLength: 1,
    maxLength: 128,
    pattern: '^[0-9A-Za-z][0-9A-Za-z_.:-]*$',
    description: 'Made by the server.',
  },
};

const ANY_JSON: Schema = {
  description: `Any JSON of at most ${LIMITS.opaqueBytes / 1024} KiB, kept byte for byte.`,
};

/** What several replies share, found by identity. */
const NAMED: ReadonlyMap<TSchema, string> = new Map<TSchema, string>([
  [Task, 'Task'],
  [PastLease, 'PastLease'],
  [TaskLease, 'TaskLease'],
  [ExtendedLease, 'ExtendedLease'],
  [Verdict, 'Verdict'],
  [Entries, 'Entries'],
  [Entry, 'Entry'],
  [Worker, 'Worker'],
  [QueueCounts, 'Queue'],
  [QueueSwitch, 'QueueSwitch'],
  [AcquiredLease, 'AcquiredLease'],
  [GrantedLease, 'GrantedLease'],
  [Lease, 'Lease'],
  [WrittenObject, 'WrittenObject'],
  [Receipt, 'Receipt'],
  [Status, 'Status'],
  [Session, 'Session'],
]);

export const schemaRef = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

export function plainSchema(schema: TSchema): Schema {
  const name = NAMED.get(schema);
  return name === undefined ? shapeOf(schema) : schemaRef(name);
}

function shapeOf(schema: TSchema): Schema {
  const { properties, items, anyOf, ...rest } = schema as TSchema & {
    properties?: Record<string, TSchema>;
    items?: TSchema;
    anyOf?: TSchema[];
  };
  const form =
    FORMATS[String(schema.format)] ?? (OPAQUE in schema && properties === undefined ? ANY_JSON : {});
  const description = [schema.description, form.description].filter((part) => part !== undefined).join(' ');
  return {
    // Without what the schema library keeps under symbols.
    ...Object.fromEntries(Object.entries(rest)),
    ...form,
    ...(anyOf === undefined ? {} : choice(anyOf)),
    ...(items === undefined ? {} : { items: plainSchema(items) }),
    ...(properties === undefined ? {} : { properties: propertiesOf(properties) }),
    ...(description === '' ? {} : { description }),
  };
}

/** One of several words reads better as an enumeration. */
function choice(alternatives: readonly TSchema[]): Schema {
  const words = alternatives.map(({ const: word }) => word as unknown);
  if (words.every((word) => typeof word === 'string')) return { type: 'string', enum: words };
  return { anyOf: alternatives.map(plainSchema) };
}

function propertiesOf(properties: Record<string, TSchema>): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, plainSchema(property)]),
  );
}

export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

/** The fields of a request, each with what it means and what it may look like. */
export function fieldsOf({ properties, required = [] }: TObject): Field[] {
  return Object.entries(propertiesOf(properties)).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    schema,
  }));
}

/** An object of exactly these fields. */
export function strictObject(fields: readonly Field[]): Schema {
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
  };
}

const TEXT: Schema = { type: 'string' };
const TEXT_OR_NULL: Schema = { anyOf: [{ type: 'string' }, { type: 'null' }] };
const POSITION: Schema = { type: 'integer', minimum: 0 };
const HTTP_STATUS: Schema = { type: 'integer', minimum: 100, maximum: 599 };

const PROBLEM: Schema = {
  type: 'object',
  description: 'A refusal, as RFC 9457 has it. It changed nothing, unless its code says otherwise.',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'A page of this server about the code.' },
    title: { ...TEXT, description: 'The code as a sentence.' },
    status: { ...HTTP_STATUS, description: 'The status of the reply.' },
    detail: { ...TEXT, description: 'A sentence about this very case.' },
    instance: { type: 'string', format: 'uri-reference', description: 'The path that was asked.' },
    code: { type: 'string', enum: Object.keys(REFUSALS), description: 'Never renamed; made for programs.' },
    requestId: { ...TEXT, description: 'What the log of the server calls this request.' },
    holder: { ...TEXT, description: 'Who is in the way.' },
    remaining_ms: { type: 'integer', description: 'For how long the lease in the way still lasts.' },
    index: {
      type: 'integer',
      minimum: 0,
      maximum: LIMITS.batchOps,
      description: 'Which of several writes it is about.',
    },
    outcome: { const: 'REJECTED', type: 'string', description: 'For verdicts on tasks.' },
    first_seq: { ...POSITION, description: 'The first entry that is kept.' },
    leader_url: { ...TEXT, description: 'Where the leader is, as far as a standby knows.' },
    current_fence: { ...POSITION, description: 'The fence that a refused write met.' },
    session_id: {
      ...TEXT,
      description: 'The session that has ended or is past that, or the one in the way.',
    },
    state: { ...TEXT, description: 'The state of that session.' },
    reason: { ...TEXT_OR_NULL, description: 'Why that session has ended.' },
    reason_detail: { ...TEXT_OR_NULL, description: 'More about the reason: an exit code, a cause.' },
  },
};

/** `task.create` → `TaskCreateOp`. */
const opName = (operation: string): string =>
  `${operation.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Op`;

const BATCH_OPERATIONS = (Object.keys(OPERATIONS) as Operation[]).filter(
  (operation): operation is BatchOperation => (OPERATIONS[operation] as AnyOperation).batch === true,
);

/** Inside a batch an operation has all its fields in the body, its own name, and no wait. */
function opSchema(operation: BatchOperation): Schema {
  const fields = fieldsOf(OPERATIONS[operation].request).filter(({ name }) => name !== 'wait_ms');
  const op: Field = { name: 'op', required: true, schema: { const: operation, type: 'string' } };
  return strictObject([op, ...fields]);
}

export const BATCH_REQUEST: Schema = strictObject([
  {
    name: 'ops',
    required: true,
    schema: {
      type: 'array',
      maxItems: LIMITS.batchOps,
      items: {
        oneOf: BATCH_OPERATIONS.map((operation) => schemaRef(opName(operation))),
        discriminator: {
          propertyName: 'op',
          mapping: Object.fromEntries(
            BATCH_OPERATIONS.map((operation) => [operation, schemaRef(opName(operation)).$ref]),
          ),
        },
      },
    },
  },
]);

export const BATCH_REPLY: Schema = {
  type: 'object',
  required: ['results'],
  properties: {
    results: {
      type: 'array',
      description: 'In the order of ops.',
      items: {
        type: 'object',
        required: ['status', 'body'],
        properties: {
          status: { ...HTTP_STATUS, description: 'The status the operation alone would have had.' },
          body: { type: 'object', description: 'Its reply, or a Problem.' },
        },
      },
    },
  },
};

const INT32_MAX = 2 ** 31 - 1;

/**
 * The document with `format: int64` at every integer whose bounds allow more than 32 bits: generators of clients take an
 * integer without a format for one of 32 bits, and a `lease_seq` is above that after the first restore. Examples stay.
 */
export function withInt64(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withInt64);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, /^examples?$/.test(key) ? value : withInt64(value)]),
  );
  const { type, maximum = Number.POSITIVE_INFINITY } = copy;
  return type === 'integer' && Number(maximum) > INT32_MAX ? { ...copy, format: 'int64' } : copy;
}

export function componentSchemas(): Record<string, Schema> {
  return {
    Problem: PROBLEM,
    ...Object.fromEntries([...NAMED].map(([schema, name]) => [name, shapeOf(schema)])),
    ...Object.fromEntries(BATCH_OPERATIONS.map((operation) => [opName(operation), opSchema(operation)])),
  };
}
