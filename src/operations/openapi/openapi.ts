/**
 * `GET /openapi.json`: the table of operations as OpenAPI 3.1, complete and with examples, for whoever makes
 * clients in other languages. Nothing in it is written twice: paths, fields, replies, refusals and examples
 * are those the server runs on.
 */

import type { PageName } from '../pages.ts';
import { PAGES, type Page } from '../pages.ts';
import { type AnyOperation, OPERATION_NAMES, OPERATIONS, type Operation, operationOf } from '../table.ts';
import { PAGE_CONTENTS, PAGE_PARAMETERS, PAGE_REQUESTS } from './openapi-pages.ts';
import { problemResponses, sharedResponses } from './openapi-problems.ts';
import {
  componentSchemas,
  type Field,
  fieldsOf,
  plainSchema,
  type Schema,
  strictObject,
  withInt64,
} from './openapi-schemas.ts';

const DESCRIPTION = `Leases with fencing numbers, durable tasks and fenced objects, from one log.

Field names are snake_case, instants are ISO 8601 in UTC with milliseconds, durations are whole numbers that end in
\`_ms\`. Unknown fields are refused. Payloads, results, values and metadata are opaque: the JSON text that went in comes
out, byte for byte. Names in a path are percent-encoded, a slash as \`%2F\`.

Every refusal is \`application/problem+json\` with a \`code\` that is never renamed; \`/errors/CODE\` says what to do about
it. A path that is not listed here answers 404 \`ROUTE_NOT_FOUND\`, a method that is not listed 405 \`METHOD_NOT_ALLOWED\`
with an \`Allow\` header. HEAD is taken wherever GET is listed.

A list answers a page. A page may be short, even if there is more: only a reply without \`next_cursor\` is the last one.
Integers with \`format: int64\` may exceed 32 bits; all of them are below 2^53.`;

const TAGS: Readonly<Record<string, string>> = {
  task: 'Durable work, leased to one worker at a time.',
  worker: 'Who works.',
  queue: 'Where tasks wait.',
  lease: 'Named leases: one holder at a time, each grant with a higher number.',
  object: 'Values that only the holder of the live lease of the same name may write.',
  receipt: 'Writes that were refused.',
  status: 'The state of the server.',
  whoami: 'The token that a request carries.',
  intent: 'What somebody wants to see run.',
  session: 'One run of one intent on one slot.',
  page: 'Streams, files and pages.',
};

export function openApiDocument(version: string): object {
  return withInt64({
    openapi: '3.1.0',
    info: {
      title: 'leasehold',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/', description: 'The server this description comes from.' },
      { url: 'http://127.0.0.1:7420', description: 'Where a server listens by default.' },
    ],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: paths(),
    components: {
      schemas: componentSchemas(),
      responses: sharedResponses(),
      headers: HEADERS,
      parameters: { RequestId: REQUEST_ID },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of the server. Scopes: `v1:read` to look, `v1:write` to change, `v1:admin` to override others; ' +
            '`v3:read`, `v3:write` and `v3:admin` are the same for intents and sessions; admin implies write, write ' +
            'implies read, and `*` is all of them. A server without tokens asks for none and serves its own machine ' +
            'only.',
        },
      },
    },
  }) as object;
}

const REQUEST_ID: Schema = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description: 'What to call this request in the log of the server and in receipts; made there by default.',
  schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[!-~]+$' },
};

const HEADERS: Readonly<Record<string, Schema>> = {
  'X-Request-Id': {
    description: 'What the log of the server calls this request: the id that came with it, or a new one.',
    schema: { type: 'string' },
  },
  'Leasehold-Outcome': {
    description: 'The outcome of the verdict, as in the body.',
    schema: { type: 'string', enum: ['COMMITTED', 'CANCELLED', 'REJECTED'] },
  },
  'Leasehold-Leader': {
    description: 'Where the leader is, as in the body, when the standby that answers knows it.',
    schema: { type: 'string' },
  },
  'Leasehold-Stale': {
    description: 'The position up to which the standby that answers has read along.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': {
    description: 'How many seconds to stay away.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' } },
};

const headerRef = (name: string): Schema => ({ [name]: { $ref: `#/components/headers/${name}` } });

function paths(): Record<string, Record<string, Schema>> {
  const found: Record<string, Record<string, Schema>> = {};
  const add = (path: string, method: string, operation: Schema): void => {
    found[path] = { ...found[path], [method.toLowerCase()]: operation };
  };
  for (const name of OPERATION_NAMES) {
    const operation = operationOf(name);
    add(operation.path, operation.method, operationItem(name, operation));
  }
  for (const [name, page] of Object.entries(PAGES))
    add(page.path, page.method, pageItem(name as PageName, page));
  return found;
}

function operationItem(operation: Operation, route: AnyOperation): Schema {
  const fields = fieldsOf(OPERATIONS[operation].request);
  const example: Readonly<Record<string, unknown>> = OPERATIONS[operation].example.request;
  const inPath = fields.filter(({ name }) => route.path.includes(`{${name}}`));
  const others = fields.filter((field) => !inPath.includes(field));
  const parameter = (place: 'path' | 'query') => (field: Field) =>
    parameterOf(place, field, example[field.name]);
  const isGet = route.method === 'GET';
  return {
    ...headOf(operation, route),
    tags: [operation.split('.')[0]],
    parameters: [
      ...inPath.map(parameter('path')),
      ...(isGet ? others.map(parameter('query')) : []),
      { $ref: '#/components/parameters/RequestId' },
    ],
    ...(isGet || others.length === 0 ? {} : { requestBody: bodyOf(others, example) }),
    responses: { ...successes(operation, route), ...problemResponses(operation) },
  };
}

function headOf(name: string, { does, scope }: AnyOperation | Page): Schema {
  const needs =
    scope === null ? 'Needs no token.' : scope === 'any' ? 'Needs any token.' : `Scope: \`${scope}\`.`;
  return {
    operationId: name,
    summary: does,
    description: needs,
    security: scope === null ? [] : [{ bearer: scope === 'any' ? [] : [scope] }],
  };
}

/** A list in a query is one text. */
const COMMAS = { style: 'form', explode: false };

function parameterOf(place: 'path' | 'query' | 'header', field: Field, example: unknown): Schema {
  const { description = '', ...schema } = field.schema;
  return {
    name: field.name,
    in: place,
    required: place === 'path' || field.required,
    description,
    schema,
    ...(place === 'query' && schema.type === 'array' ? COMMAS : {}),
    ...(example === undefined ? {} : { example }),
  };
}

function bodyOf(fields: readonly Field[], example: Readonly<Record<string, unknown>>): Schema {
  const shown = fields
    .filter(({ name }) => example[name] !== undefined)
    .map(({ name }) => [name, example[name]]);
  return {
    required: fields.some(({ required }) => required),
    content: { 'application/json': { schema: strictObject(fields), example: Object.fromEntries(shown) } },
  };
}

const VERDICTS: ReadonlySet<string> = new Set(['task.complete', 'task.fail', 'task.release']);

function successes(operation: Operation, { status, method }: AnyOperation): Record<string, Schema> {
  const { reply } = OPERATIONS[operation].example;
  const schema = plainSchema(OPERATIONS[operation].reply);
  const headers = {
    ...headerRef('X-Request-Id'),
    ...(VERDICTS.has(operation) ? headerRef('Leasehold-Outcome') : {}),
    ...(method === 'GET' ? headerRef('Leasehold-Stale') : {}),
  };
  const answer = (description: string, example: object): Schema => ({
    description,
    headers,
    content: { 'application/json': { schema, example } },
  });
  if (status === 200) return { 200: answer('The answer.', reply) };
  if (status === 202) return { 202: answer('It was taken; the session shows what comes of it.', reply) };
  return {
    [status]: answer('It was made.', reply),
    200: answer('It was there already; nothing was made.', { ...reply, duplicate: true }),
  };
}

function pageItem(name: PageName, page: Page): Schema {
  const parameters = PAGE_PARAMETERS[name] ?? [];
  const body = PAGE_REQUESTS[name];
  return {
    ...headOf(name, page),
    tags: ['page'],
    parameters: [
      ...parameters.map(({ place, field, example }) => parameterOf(place, field, example)),
      { $ref: '#/components/parameters/RequestId' },
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: { 'application/json': body } } }),
    responses: {
      200: {
        description: 'The answer.',
        headers: headerRef('X-Request-Id'),
        content: { [page.type]: PAGE_CONTENTS[name] },
      },
      ...problemResponses(name),
    },
  };
}
