/** The OpenAPI text of streams, files and pages, which have no schemas in the table of operations. */
import { REFUSALS } from '../../core/refusals.ts';
import {
  BATCH_EXAMPLE,
  EVENTS_EXAMPLE,
  LOG_EXAMPLE,
  LOG_REQUEST_EXAMPLE,
  SESSION_EVENTS_EXAMPLE,
} from '../page-examples.ts';
import type { PageName } from '../pages.ts';
import { LOG_REQUEST, SESSION_EVENTS_REQUEST } from '../pages.ts';
import { BATCH_REPLY, BATCH_REQUEST, type Field, fieldsOf, type Schema } from './openapi-schemas.ts';

interface Parameter {
  readonly place: 'path' | 'query' | 'header';
  readonly field: Field;
  readonly example?: unknown;
}

const LAST_EVENT_ID: Field = {
  name: 'Last-Event-ID',
  required: false,
  schema: {
    type: 'string',
    pattern: '^[0-9]+$',
    description:
      'The id of the last event received; the stream continues after it. Browsers send it by themselves.',
  },
};

const FILE: Field = {
  name: 'file',
  required: true,
  schema: { type: 'string', description: 'The name of a file of the console.' },
};
const CODE: Field = {
  name: 'code',
  required: true,
  schema: { type: 'string', enum: Object.keys(REFUSALS), description: 'The code of a refusal.' },
};

const LOG_PARAMETERS = fieldsOf(LOG_REQUEST).map(
  (field): Parameter => ({
    place: 'query',
    field,
    example: LOG_REQUEST_EXAMPLE[field.name as keyof typeof LOG_REQUEST_EXAMPLE],
  }),
);

const SESSION_EVENTS_PARAMETERS = fieldsOf(SESSION_EVENTS_REQUEST)
  .filter(({ name }) => name !== 'follow')
  .map(
    (field): Parameter =>
      field.name === 'session_id'
        ? { place: 'path', field, example: 's0000000001n' }
        : { place: 'query', field, example: 59 },
  );

export const PAGE_PARAMETERS: Readonly<Partial<Record<PageName, readonly Parameter[]>>> = {
  log: LOG_PARAMETERS,
  events: [
    ...LOG_PARAMETERS.filter(({ field }) => field.name === 'from' || field.name === 'types'),
    { place: 'header', field: LAST_EVENT_ID, example: '41' },
  ],
  session_events: [...SESSION_EVENTS_PARAMETERS, { place: 'header', field: LAST_EVENT_ID, example: '58' }],
  error: [{ place: 'path', field: CODE, example: 'LEASE_HELD' }],
  console_file: [{ place: 'path', field: FILE, example: 'index-4f3c2b1a.js' }],
};

export const PAGE_REQUESTS: Readonly<Partial<Record<PageName, Schema>>> = {
  batch: { schema: BATCH_REQUEST, example: BATCH_EXAMPLE.request },
};

const HTML: Schema = { schema: { type: 'string' } };

const state = (word: string): Schema => ({
  schema: {
    type: 'object',
    required: ['status'],
    properties: { status: { const: word, type: 'string' } },
  },
  example: { status: word },
});

/** A live connection has none: the request upgrades, or is refused. */
export const PAGE_CONTENTS: Readonly<Record<Exclude<PageName, 'live'>, Schema>> = {
  batch: { schema: BATCH_REPLY, example: BATCH_EXAMPLE.reply },
  log: {
    schema: { type: 'string', description: 'One JSON object a line, each of them an Entry.' },
    example: LOG_EXAMPLE,
  },
  events: {
    schema: {
      type: 'string',
      description:
        'Server-sent events: `id` is the seq, `event` the type and `data` the JSON of an Entry. A comment every 15 s.',
    },
    example: EVENTS_EXAMPLE,
  },
  session_events: {
    schema: {
      type: 'string',
      description:
        'Server-sent events as in `/v1/events`, of this session only; the reply ends with the one that ends the ' +
        'session.',
    },
    example: SESSION_EVENTS_EXAMPLE,
  },
  backup: { schema: { description: 'A tar archive.' } },
  metrics: {
    schema: { type: 'string', description: 'The text format of Prometheus.' },
  },
  health: state('alive'),
  ready: state('ready'),
  openapi: { schema: { type: 'object' } },
  error: HTML,
  console: HTML,
  console_file: { schema: { description: 'Its contents, as its Content-Type says.' } },
};
