// The OpenAPI text, read the way a stranger reads it: as JSON, by the rules of OpenAPI 3.1, and against the table.
import { describe, expect, it } from 'vitest';
import { complaints, type Schema } from '../../../test/support/json-schema.ts';
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts';
import { EVENTS_REQUEST, LOG_REQUEST, PAGES, type Page } from '../pages.ts';
import { refusalStatus, refusalsOf } from '../refusals-of.ts';
import { type AnyOperation, OPERATION_NAMES, OPERATIONS, type Operation, operationOf } from '../table.ts';
import { openApiDocument } from './openapi.ts';

interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Record<string, { readonly value: unknown }>;
}
interface Response {
  readonly $ref?: string;
  readonly description: string;
  readonly headers?: Record<string, { readonly $ref: string }>;
  readonly content?: Record<string, Content>;
}
interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: unknown;
}
interface Item {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: string[];
  readonly security: Record<string, string[]>[];
  readonly parameters: Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Record<string, Content> };
  readonly responses: Record<string, Response>;
}
interface Document {
  readonly openapi: string;
  readonly info: Record<string, unknown>;
  readonly tags: { readonly name: string }[];
  readonly paths: Record<string, Record<string, Item>>;
  readonly components: Record<string, Record<string, unknown>>;
}

const OUR_FORMATS = ['id', 'name', 'profile', 'reason', 'session', 'token'];
const made = openApiDocument('1.2.3');
const document = JSON.parse(JSON.stringify(made)) as Document;
const table = { ...OPERATIONS, ...PAGES } as unknown as Record<string, AnyOperation | Page>;
type Name = Operation | keyof typeof PAGES;

function resolve(ref: string): Schema {
  expect(ref).toMatch(/^#\//);
  const found = ref
    .slice(2)
    .split('/')
    .reduce<unknown>((place, key) => (place as Record<string, unknown> | undefined)?.[key], document);
  if (found === undefined) throw new Error(`${ref} leads nowhere.`);
  return found as Schema;
}
const open = <T extends { readonly $ref?: string }>(part: T): T =>
  part.$ref === undefined ? part : (resolve(part.$ref) as unknown as T);

function everyNode(visit: (node: Record<string, unknown>, path: string) => void): void {
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    if (!Array.isArray(node)) visit(node as Record<string, unknown>, path);
    for (const [key, child] of Object.entries(node)) walk(child, `${path}/${key}`);
  };
  walk(document, '#');
}

const items = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, item]) => ({ path, method, item, name: item.operationId })),
);
const itemOf = (name: string): Item => items.find((each) => each.name === name)!.item;
const contentsOf = (item: Item): Content[] => [
  ...Object.values(item.requestBody?.content ?? {}),
  ...Object.values(item.responses).flatMap((response) => Object.values(open(response).content ?? {})),
];

describe('the reader of schemas', () => {
  it.each([
    [{ type: 'integer' }, 1.5],
    [{ type: 'object', required: ['op'] }, {}],
    [{ properties: { op: { const: 'task.create' } } }, { op: 'task.kill' }],
    [{ properties: {}, additionalProperties: false }, { op: 1 }],
    [{ items: { enum: ['WAITING'] } }, ['WAITING', 'DONE']],
    [{ oneOf: [{ type: 'integer' }, { minimum: 0 }] }, 5],
    [{ allOf: [{ minLength: 1 }, { pattern: '^a' }] }, 'b'],
    [{ $ref: '#/components/schemas/Problem' }, { code: 'LEASE_HELD' }],
    [{ exclusiveMinimum: 1 }, 5],
    [{ format: 'uuid' }, 'x'],
  ] as [Schema, unknown][])('complains: %j does not take %j', (schema, value) => {
    expect(complaints(schema, value, resolve)).not.toEqual([]);
  });
});

describe('the OpenAPI text', () => {
  it('is JSON as it stands, without anything undefined', () => {
    expect(document).toStrictEqual(made);
  });

  it('carries the version it is given, and that of OpenAPI', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toMatchObject({ title: 'leasehold', version: '1.2.3' });
  });

  it('has every operation and page of the table with its method and path, and nothing else', () => {
    const found = items.map(({ name, method, path }) => `${name} ${method.toUpperCase()} ${path}`).sort();
    const wanted = Object.entries(table).map(([name, { method, path }]) => `${name} ${method} ${path}`);
    expect(found).toEqual(wanted.sort());
  });

  it('has only references that lead somewhere', () => {
    let count = 0;
    everyNode((node, path) => {
      if (typeof node.$ref !== 'string') return;
      count += 1;
      expect(resolve(node.$ref), path).toBeTypeOf('object');
    });
    expect(count).toBeGreaterThan(100);
  });

  it('names nothing in its components that is not used', () => {
    const used = new Set<string>();
    everyNode(({ $ref }) => {
      if (typeof $ref === 'string') used.add($ref);
    });
    const named = Object.entries(document.components)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, parts]) => Object.keys(parts).map((name) => `#/components/${kind}/${name}`));
    expect(named.filter((ref) => !used.has(ref))).toEqual([]);
  });

  it('knows every code there is', () => {
    const problem = document.components.schemas!.Problem as { properties: { code: { enum: string[] } } };
    expect(problem.properties.code.enum).toEqual(Object.keys(REFUSALS));
  });

  it('marks the integers that may exceed 32 bits, and no others', () => {
    const { Status, WrittenObject, Problem } = document.components.schemas as Record<string, Schema>;
    const format = (schema: Schema | undefined, field: string) =>
      (schema?.properties as Record<string, Schema> | undefined)?.[field]?.format;
    expect(format(WrittenObject, 'lease_seq')).toBe('int64');
    expect(format(WrittenObject, 'version')).toBe('int64');
    expect(format(WrittenObject, 'seq')).toBe('int64');
    expect(format(Status, 'log_bytes')).toBe('int64');
    expect(format(Problem, 'current_fence')).toBe('int64');
    expect(format(Problem, 'status')).toBeUndefined();
    const bounded: string[] = [];
    const unmarked: string[] = [];
    everyNode(({ type, maximum, format }, path) => {
      if (type !== 'integer') return;
      const isWide = maximum === undefined || Number(maximum) >= 2 ** 31;
      if (isWide && format !== 'int64') unmarked.push(path);
      if (!isWide && format !== undefined) bounded.push(path);
    });
    expect([unmarked, bounded]).toEqual([[], []]);
  });

  it('says of every page that it may be short', () => {
    const pages: string[] = [];
    everyNode(({ properties }, path) => {
      const cursor = (properties as Record<string, Schema> | undefined)?.next_cursor;
      if (cursor === undefined) return;
      pages.push(path);
      expect(cursor.description, path).toMatch(/A page may be short/);
    });
    expect(pages.length).toBeGreaterThan(3);
  });

  it('names only tags that it describes', () => {
    const tags = document.tags.map(({ name }) => name);
    expect(new Set(items.flatMap(({ item }) => item.tags))).toEqual(new Set(tags));
  });

  it('describes our own formats for those who do not know them', () => {
    const seen = new Set<string>();
    everyNode((node, path) => {
      if (!OUR_FORMATS.includes(String(node.format)) || node.type !== 'string') return;
      seen.add(String(node.format));
      expect(node, path).toMatchObject({ minLength: expect.any(Number), maxLength: expect.any(Number) });
    });
    expect([...seen].sort()).toEqual(OUR_FORMATS);
  });
});

describe.each(Object.keys(table) as Name[])('in the OpenAPI text, %s', (name) => {
  const item = itemOf(name);
  const { path, method, scope } = table[name]!;
  const parameters = item.parameters.map(open);

  it('has what OpenAPI demands of an operation', () => {
    expect(item.summary).not.toBe('');
    expect(Object.keys(item.responses)).not.toEqual([]);
    for (const [status, response] of Object.entries(item.responses)) {
      expect(status).toMatch(/^[1-5]\d\d$/);
      expect(open(response).description).not.toBe('');
      // A connection that is upgraded has frames instead, with ids of their own.
      if (status !== '101') expect(Object.keys(open(response).headers ?? {})).toContain('X-Request-Id');
    }
    for (const parameter of parameters) {
      expect(['path', 'query', 'header']).toContain(parameter.in);
      expect(parameter.description).not.toBe('');
      expect(parameter.schema).toBeTypeOf('object');
      expect(parameter.in !== 'path' || parameter.required).toBe(true);
    }
    expect(new Set(parameters.map((each) => `${each.in} ${each.name}`)).size).toBe(parameters.length);
  });

  it('has a parameter for each brace in its path', () => {
    const inPath = parameters.filter((parameter) => parameter.in === 'path').map((each) => each.name);
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field));
  });

  it('asks for the token it needs', () => {
    const none = name === 'live' ? [{ bearer: [] }, {}] : [];
    expect(item.security).toEqual(scope === null ? none : [{ bearer: scope === 'any' ? [] : [scope] }]);
    if (scope !== null) expect(item.description).toContain(scope);
  });

  it('has its refusals under their statuses, and no others', () => {
    const found: [string, number][] = [];
    for (const [status, response] of Object.entries(item.responses)) {
      const content = open(response).content?.['application/problem+json'];
      if (content === undefined) continue;
      const [, narrowed] = content.schema!.allOf as [Schema, { properties: { code: { enum: string[] } } }];
      for (const code of narrowed.properties.code.enum) found.push([code, Number(status)]);
      expect(Object.keys(content.examples!)).toEqual(narrowed.properties.code.enum);
    }
    const wanted = refusalsOf(name).map((code) => [code, refusalStatus(name, code)]);
    expect(found.sort()).toEqual(wanted.sort());
    expect(wanted.map(([code]) => code)).toEqual(expect.arrayContaining([...table[name]!.refusals]));
  });

  it('says when to come back, wherever the server is in the way', () => {
    expect(Object.keys(open(item.responses[503]!).headers!)).toContain('Retry-After');
  });

  it('shows only examples that fit', () => {
    for (const { schema, example, examples = {} } of contentsOf(item)) {
      const shown = [
        ...(example === undefined ? [] : [example]),
        ...Object.values(examples).map((each) => each.value),
      ];
      for (const value of shown) expect(complaints(schema!, value, resolve)).toEqual([]);
    }
    for (const parameter of parameters) {
      if (parameter.example === undefined) continue;
      expect(complaints(parameter.schema, parameter.example, resolve)).toEqual([]);
    }
    expect(method === 'GET' || item.requestBody === undefined || contentsOf(item)[0]!.example).toBeTruthy();
  });
});

describe('in the OpenAPI text, the live connection', () => {
  it('upgrades, and takes a token without needing one before the first message', () => {
    expect(Object.keys(itemOf('live').responses)).toEqual(expect.arrayContaining(['101', '401', '426']));
    expect(Object.keys(itemOf('live').responses)).not.toContain('200');
    expect(itemOf('live').security).toEqual([{ bearer: [] }, {}]);
  });
});

describe.each(Object.keys(OPERATIONS) as Operation[])(
  'in the OpenAPI text, the request of %s',
  (operation) => {
    const item = itemOf(operation);
    const inPath = item.parameters.map(open).filter((parameter) => parameter.in === 'path');
    const inQuery = item.parameters.map(open).filter((parameter) => parameter.in === 'query');
    const body = item.requestBody?.content['application/json']?.schema as
      | { properties: Record<string, Schema>; required?: string[] }
      | undefined;

    it('has every field of the schema once, and demands those it must', () => {
      const { properties, required = [] } = OPERATIONS[operation].request as {
        properties: object;
        required?: string[];
      };
      const found = [...inPath, ...inQuery].map((parameter) => parameter.name);
      expect([...found, ...Object.keys(body?.properties ?? {})].sort()).toEqual(
        Object.keys(properties).sort(),
      );
      const demanded = [...inPath, ...inQuery]
        .filter((parameter) => parameter.required)
        .map((each) => each.name);
      expect([...demanded, ...(body?.required ?? [])].sort()).toEqual([...required].sort());
    });

    it('says of each field what it means, and of those inside it', () => {
      const silent: string[] = [];
      const walk = (schema: Schema, path: string): void => {
        for (const [name, part] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
          if (typeof part.description !== 'string' || part.description === '') silent.push(`${path}.${name}`);
          walk(part, `${path}.${name}`);
        }
        if (schema.items !== undefined) walk(schema.items as Schema, path);
      };
      walk(body ?? {}, operation);
      expect(silent).toEqual([]);
    });

    it('has a body only where there is something to say, and not on a GET', () => {
      expect(OPERATIONS[operation].method === 'GET' ? body : undefined).toBeUndefined();
      expect(Object.keys(body?.properties ?? { any: 1 })).not.toEqual([]);
    });
  },
);

describe('in the OpenAPI text', () => {
  it.each(['task.complete', 'task.fail', 'task.release'])(
    'the outcome of %s is a header too',
    (operation) => {
      for (const status of [200, 404, 409]) {
        expect(Object.keys(open(itemOf(operation).responses[status]!).headers!)).toContain(
          'Leasehold-Outcome',
        );
      }
    },
  );

  it('a repeated task.create has a reply of its own', () => {
    expect(Object.keys(itemOf('task.create').responses)).toEqual(expect.arrayContaining(['200', '201']));
    expect(itemOf('task.create').responses[200]!.content!['application/json']!.example).toMatchObject({
      duplicate: true,
    });
  });

  it('a lease that is over is a conflict for renewals and a failed precondition for writes', () => {
    const statusesOf = (operation: Operation): string[] =>
      Object.entries(itemOf(operation).responses)
        .filter(([, response]) => open(response).description.includes('`LEASE_EXPIRED`'))
        .map(([status]) => status);
    expect(statusesOf('lease.renew')).toEqual(['409']);
    expect(statusesOf('task.extend')).toEqual(['409']);
    expect(statusesOf('object.write')).toEqual(['412']);
    expect(statusesOf('task.complete')).toEqual(['412']);
  });

  it('task.lease says that large payloads end an answer before its max', () => {
    const { schema } = itemOf('task.lease').requestBody!.content['application/json']!;
    const { max } = (schema as { properties: Record<string, Schema> }).properties;
    expect(max!.description).toContain('4 MiB');
  });

  it('a batch takes exactly the operations that may stand in one, without waits', () => {
    const { schema } = itemOf('batch').requestBody!.content['application/json']! as {
      schema: { properties: { ops: { items: { oneOf: Schema[]; discriminator: { mapping: object } } } } };
    };
    const { oneOf, discriminator } = schema.properties.ops.items;
    const ops = oneOf.map(({ $ref }) => resolve(String($ref)) as { properties: Record<string, Schema> });
    const allowed = OPERATION_NAMES.filter((name) => operationOf(name).batch === true);
    expect(ops.map(({ properties }) => properties.op!.const)).toEqual(allowed);
    expect(Object.keys(discriminator.mapping)).toEqual(allowed);
    for (const { properties } of ops) {
      const { op, ...fields } = properties;
      const wanted = Object.keys(OPERATIONS[op!.const as Operation].request.properties).filter(
        (field) => field !== 'wait_ms',
      );
      expect(Object.keys(fields)).toEqual(wanted);
    }
  });

  it('the log takes what its check takes', () => {
    const names = itemOf('log')
      .parameters.map(open)
      .filter((each) => each.in === 'query')
      .map((each) => each.name);
    expect(names).toEqual(Object.keys(LOG_REQUEST.properties));
    const events = itemOf('events')
      .parameters.map(open)
      .map((each) => each.name);
    expect(events).toEqual([
      ...Object.keys(EVENTS_REQUEST.properties).filter((field) => field !== 'follow'),
      'Last-Event-ID',
      'X-Request-Id',
    ]);
    const session = itemOf('session_events')
      .parameters.map(open)
      .map((each) => each.name);
    expect(session).toEqual(expect.arrayContaining(['session_id', 'from', 'Last-Event-ID']));
  });

  it('what is only taken for later answers 202 and nothing else', () => {
    for (const operation of ['intent.accept', 'session.stop']) {
      const statuses = Object.keys(itemOf(operation).responses).filter((status) => status < '300');
      expect(statuses).toEqual(['202']);
    }
  });

  it('an intent that finds a session in the way says which, and when to come back', () => {
    const { headers, content } = open(itemOf('intent.accept').responses[409]!);
    expect(Object.keys(headers!)).toContain('Retry-After');
    expect(content!['application/problem+json']!.examples!.LEASE_HELD!.value).toHaveProperty('session_id');
  });

  it.each(Object.keys(REFUSALS) as RefusalCode[])(
    '%s is answered by an operation, or by the path itself',
    (code) => {
      const names = (Object.keys(table) as Name[]).filter((name) => refusalsOf(name).includes(code));
      expect(names.length > 0 || String(document.info.description).includes(code)).toBe(true);
    },
  );
});
