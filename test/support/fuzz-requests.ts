// Malformed requests generated from a seed: for every route valid ones, and variations with broken methods, paths,
// encodings, bodies, headers and lengths. The same seed gives the same requests in the same order.

import { PAGES } from '../../src/operations/pages.ts';
import { OPERATIONS, type Operation, operationOf } from '../../src/operations/table.ts';
import { LIMITS } from '../../src/protocol/limits.ts';

/** A small generator of numbers that look random (mulberry32). */
export class Dice {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Below `count`. */
  below(count: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  }

  /** True once in `count` times. */
  once(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

export interface FuzzRequest {
  readonly bytes: Buffer;
  readonly method: string;
  /** Whether the server has all it needs to answer; otherwise the connection must be ended first. */
  readonly isWhole: boolean;
  /** Whether another request may follow on the same connection. */
  readonly isLast: boolean;
}

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A value as its JSON text: what is broken or too large for a number can only be said so. */
type Text = string;
type Fields = Map<string, Text>;

// A small world, so that requests meet what others have made and the state of the server stays small.
const NAMES = ['a', 'b', 'lease:1', 'lease:2', 'a/b', 'ü', '%', 'system:orchestrator:guard_lock', 'x y', '"'];
const IDS = ['t1', 't2', 't3', 't4', 'ö', 'worker-1', 'worker 2', 't00000000001', 't00000000009'];
/** Positions that intents are likely to get, and some that they are not. */
export const SESSION_IDS = [
  's00000000002',
  's00000000003',
  's00000000005',
  's0000000000a',
  's0000000000k',
  's00000000020',
  's0vvvvvvvvvv',
];
const SERVICES = ['1:0:1', '1:0:2', 'a/b', '|', 'ü'];
const TOKENS = ['token-number-one-of-two', 'token-number-two-of-two'];
const LEASE_IDS = ['l00000000002', 'l00000000003', 'l00000000020', 'l00000000100', 'nothing', 'l-1', 'l1e3'];
const WAITS = [0, 0, 1, 5, 10];

const STRANGE: readonly Text[] = [
  ...[
    'null',
    'true',
    '-1',
    '0',
    '1.5',
    '1e999',
    '-0',
    '9007199254740993',
    '123456789012345678901234567890',
    '1E400',
  ],
  ...['""', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\u2028"', '"e\u0301"', '"../.."', '"__proto__"'],
  ...['[]', '{}', '[null]', '[[]]', '{"a":1}', '{"__proto__":{"x":1}}', '{"toString":1}', '["a","a"]'],
  `"${'x'.repeat(257)}"`,
  `"${'ü'.repeat(129)}"`,
  `"${'y'.repeat(5_000)}"`,
  `${'['.repeat(500)}${']'.repeat(500)}`,
  `${'['.repeat(1_200)}${']'.repeat(1_200)}`,
  `${'{"a":'.repeat(400)}1${'}'.repeat(400)}`,
  `[${'0,'.repeat(2_000)}0]`,
];
/** None of these is JSON. */
const BROKEN: readonly Text[] = [
  '',
  '{',
  'nul',
  '01',
  '+1',
  '.5',
  "'a'",
  '"\\x"',
  '"a',
  '[1,]',
  '{,}',
  'NaN',
  '\u{feff}1',
  '\t"\n"',
];

export class FuzzRequests {
  private readonly dice: Dice;

  constructor(seed: number) {
    this.dice = new Dice(seed);
  }

  /** Anything at all. */
  any(): FuzzRequest {
    const { dice } = this;
    if (dice.once(40)) return this.rubbish();
    if (dice.once(12)) return this.page();
    const operation = dice.pick(Object.keys(OPERATIONS) as Operation[]);
    const fields = this.fieldsOf(operation);
    if (dice.once(2)) this.bend(fields, operation);
    return dice.once(15) ? this.batch() : this.send(operation, fields, dice.once(2));
  }

  /** Something that must not change anything, however the server understands it. */
  refused(): FuzzRequest {
    const { dice } = this;
    const operation = dice.pick(
      (Object.keys(OPERATIONS) as Operation[]).filter((name) => OPERATIONS[name].method !== 'GET'),
    );
    const { method, path } = operationOf(operation);
    const fields = this.fieldsOf(operation);
    const place = this.placeOf(path, fields, false);
    switch (dice.below(9)) {
      case 0:
        return this.rubbish();
      case 1:
        fields.set(dice.pick(['no_such_field', '__proto__', 'TASK_ID', '']), '1');
        return this.message(method, place, { body: textOf(fields) });
      case 2:
        return this.message(method, place, {
          body: `${textOf(fields)}${dice.pick(['}', 'x', '[]', '\0', '{}'])}`,
        });
      case 3:
        return this.message(method, place, { body: cutShort(textOf(fields), dice) });
      case 4:
        return this.message(method, place, {
          body: `{"a":1,"a":2${fields.size > 0 ? `,${textOf(fields).slice(1)}` : '}'}`,
        });
      case 5:
        return this.message(method, `/v9${place}`, { body: textOf(fields) });
      case 6:
        return this.message(dice.pick(['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']), place, {
          body: textOf(fields),
        });
      case 7:
        return this.message(method, place, {
          body: textOf(fields),
          type: dice.pick(['text/plain', 'application/xml', '']),
        });
      default:
        return this.message(method, place, {
          body: textOf(fields),
          host: dice.pick(['evil.example', '', '0.0.0.0', null]),
        });
    }
  }

  private fieldsOf(operation: Operation): Fields {
    const { properties = {}, required = [] } = OPERATIONS[operation].request as Schema;
    const fields: Fields = new Map();
    for (const [name, schema] of Object.entries(properties)) {
      // Tasks get ids from the small world, or there would be ever more of them.
      const isNeeded = required.includes(name) || (operation === 'task.create' && name === 'task_id');
      if (isNeeded || this.dice.once(2)) fields.set(name, this.valueOf(schema, name));
    }
    if (operation === 'intent.accept' && !this.dice.once(4)) this.makeWhole(fields);
    return fields;
  }

  /** Each kind of intent has a target of its own, and only one of them may say where to begin. */
  private makeWhole(intent: Fields): void {
    const isLive = intent.get('type') === '"live"';
    for (const field of isLive ? ['recordingID', 'start_ms'] : ['serviceRef']) intent.delete(field);
    intent.set(isLive ? 'serviceRef' : 'recordingID', JSON.stringify(this.dice.pick(SERVICES)));
  }

  private valueOf(schema: Schema, name: string): Text {
    const { dice } = this;
    const { type, properties, items, anyOf, format, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (anyOf !== undefined) return this.valueOf(dice.pick(anyOf), name);
    if (name === 'wait_ms') return String(dice.pick(WAITS));
    if (name === 'lease_id') return JSON.stringify(dice.pick(LEASE_IDS));
    if (name === 'limit' || name === 'max') return String(1 + dice.below(20));
    switch (type) {
      case 'string':
        if (format === 'token') return JSON.stringify(dice.pick(TOKENS));
        if (format === 'session') return JSON.stringify(dice.pick(SESSION_IDS));
        if (format === 'profile') return JSON.stringify(dice.pick(['demo', 'low']));
        if (name === 'cursor') return JSON.stringify(dice.pick(['0', '7', 'o0', 'o5', 'e0', 'e99']));
        if (format === 'id') return JSON.stringify(dice.once(2) ? dice.pick(IDS) : `r${dice.below(300)}`);
        return JSON.stringify(dice.pick(format === 'reason' ? ['no', 'tail\nof stderr'] : NAMES));
      case 'integer': {
        const near = [minimum, minimum + 1, 1_000, 60_000, 1 + dice.below(200), maximum].filter(
          (n) => n >= minimum && n <= maximum,
        );
        return String(dice.pick(near));
      }
      case 'boolean':
        return dice.pick(['true', 'false']);
      case 'array': {
        const count = 1 + dice.below(3);
        return `[${Array.from({ length: count }, () => this.valueOf(items!, name)).join(',')}]`;
      }
      case 'object': {
        const entries = Object.entries(properties ?? {}).map(
          ([key, part]) => `"${key}":${this.valueOf(part, key)}`,
        );
        return `{${entries.join(',')}}`;
      }
      default:
        return dice.pick([...STRANGE, '{"n":1.0}', `"${'p'.repeat(dice.below(3_000))}"`]);
    }
  }

  private bend(fields: Fields, operation: Operation): void {
    const { dice } = this;
    const names = [...fields.keys()];
    const name = names.length === 0 || dice.once(10) ? 'no_such_field' : dice.pick(names);
    switch (dice.below(4)) {
      case 0:
        if (operation !== 'task.create' || name !== 'task_id') fields.delete(name);
        break;
      case 1:
        fields.set(name, dice.pick(BROKEN));
        break;
      default:
        fields.set(name, dice.pick(STRANGE));
    }
  }

  private send(operation: Operation, fields: Fields, isBent: boolean): FuzzRequest {
    const { dice } = this;
    const { method, path } = operationOf(operation);
    const place = this.placeOf(path, fields, isBent && dice.once(3));
    const wrong = dice.pick([
      'GET',
      'POST',
      'PUT',
      'DELETE',
      'PATCH',
      'HEAD',
      'OPTIONS',
      'TRACE',
      'M-SEARCH',
    ]);
    const verb = isBent && dice.once(8) ? wrong : method;
    if (method === 'GET') return this.message(verb, place + this.queryOf(fields, isBent), { isBent });
    const text = textOf(fields);
    return this.message(verb, place, { body: isBent && dice.once(4) ? this.garble(text) : text, isBent });
  }

  /** The path with its fields in it, which then are no others. */
  private placeOf(path: string, fields: Fields, isBent: boolean): string {
    const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const text = fields.get(name) ?? '"x"';
      fields.delete(name);
      let value = text;
      try {
        value = String(JSON.parse(text));
      } catch {
        // What is no JSON stands in the path as it is.
      }
      return encoded(value.slice(0, 3_000));
    });
    return isBent ? this.bendPath(place) : place;
  }

  private bendPath(place: string): string {
    const { dice } = this;
    const at = 1 + dice.below(place.length);
    const odd = dice.pick([
      '%',
      '%zz',
      '%ff',
      '%c3',
      '%00',
      '%2f',
      '%2e%2e',
      '..',
      '//',
      '?',
      '#',
      ';',
      '%ed%a0%80',
      '*',
      '\\',
      '%u0041',
    ]);
    switch (dice.below(4)) {
      case 0:
        return `${place.slice(0, at)}${odd}${place.slice(at)}`;
      case 1:
        return place.slice(0, at);
      case 2:
        return `${place}/${odd}`;
      default:
        return dice.pick(['', 'http://localhost', 'http://evil.example', '/..', '/./']) + place;
    }
  }

  private queryOf(fields: Fields, isBent: boolean): string {
    const { dice } = this;
    const parts = [...fields].map(([name, text]) => {
      const value = text.startsWith('"') ? text.slice(1, -1) : text;
      return `${encoded(name)}=${encoded(value.slice(0, 2_000))}`;
    });
    if (isBent && dice.once(3))
      parts.push(
        dice.pick([
          'x=1',
          '=',
          '&&',
          'limit=%zz',
          'limit=1&limit=2',
          '__proto__=1',
          'a[b]=1',
          '%ff',
          'limit',
        ]),
      );
    return parts.length === 0 ? '' : `?${parts.join('&')}`;
  }

  private batch(): FuzzRequest {
    const { dice } = this;
    const batched = (Object.keys(OPERATIONS) as Operation[]).filter(
      (name) => 'batch' in OPERATIONS[name] || dice.once(10),
    );
    const ops = Array.from({ length: dice.below(dice.once(20) ? 300 : 6) }, () => {
      if (dice.once(15)) return dice.pick(STRANGE);
      const operation = dice.pick(batched);
      const fields = this.fieldsOf(operation);
      fields.delete('wait_ms');
      if (dice.once(3)) this.bend(fields, operation);
      fields.set('op', dice.once(10) ? dice.pick(STRANGE) : JSON.stringify(operation));
      return textOf(fields);
    });
    return this.message('POST', '/v1/batch', { body: `{"ops":[${ops.join(',')}]}`, isBent: dice.once(4) });
  }

  private page(): FuzzRequest {
    const { dice } = this;
    // The archive would be megabytes of our own log.
    const page = dice.pick(
      Object.values(PAGES).filter(({ path }) => path !== '/v1/backup' && path !== '/v1/batch'),
    );
    const path = page.path
      .replace('{code}', dice.pick(['LEASE_HELD', 'NOTHING', '%3Cscript%3E', '__proto__', '']))
      .replace('{session_id}', dice.pick([...SESSION_IDS, 'nothing', '%ff']));
    const query = dice.pick([
      '',
      '',
      '?x=1',
      '?from=1&limit=5',
      '?from=-1',
      '?from=1&follow=1',
      '?from=1&types=TaskCreated,SessionChanged',
      '?from=1&follow=1&types=TaskDead',
      '?types=Nothing',
      '?limit=%zz',
      '?from=999999999',
    ]);
    return this.message(dice.once(6) ? dice.pick(['POST', 'HEAD', 'DELETE']) : page.method, path + query, {
      isBent: dice.once(3),
    });
  }

  private garble(text: string): string {
    const { dice } = this;
    const at = dice.below(text.length + 1);
    switch (dice.below(5)) {
      case 0:
        return cutShort(text, dice);
      case 1:
        return (
          text.slice(0, at) +
          dice.pick(['"', '\\', '{', '}', ',', '\0', '\x01', '\xff', '\u{feff}', '\ud800']) +
          text.slice(at)
        );
      case 2:
        return `${text.slice(0, at)}${text.slice(at + 1)}`;
      case 3:
        return text + text;
      default:
        return dice.pick(['[', '"', 'x']) + text;
    }
  }

  /** Bytes that are hardly HTTP. */
  private rubbish(): FuzzRequest {
    const { dice } = this;
    const lines = [
      dice.bytes(1 + dice.below(300)),
      Buffer.from('GET\r\n\r\n'),
      Buffer.from('GET / HTTP/3.0\r\n\r\n'),
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      Buffer.from('CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n'),
      Buffer.from(`GET /${'x'.repeat(dice.below(30_000))} HTTP/1.1\r\nHost: localhost\r\n`),
      Buffer.from(
        `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(17_000 + dice.below(9_000))}\r\n\r\n`,
      ),
      Buffer.from(
        'POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
      ),
      Buffer.from(
        'POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      ),
      Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
    ];
    return { bytes: dice.pick(lines), method: 'GET', isWhole: false, isLast: true };
  }

  private message(
    method: string,
    path: string,
    {
      body,
      type = 'application/json',
      host = 'localhost',
      isBent = false,
    }: {
      readonly body?: string;
      readonly type?: string;
      readonly host?: string | null;
      readonly isBent?: boolean;
    },
  ): FuzzRequest {
    const { dice } = this;
    const content = Buffer.from(
      body ?? '',
      body !== undefined && isBent && dice.once(20) ? 'latin1' : 'utf8',
    );
    const headers: string[] = host === null ? [] : [`Host: ${host}`];
    if (isBent) headers.push(...this.oddHeaders());
    if (type !== '' && body !== undefined) headers.push(`Content-Type: ${type}`);
    const target = path.startsWith('/') || path.startsWith('http') ? path : `/${path}`;
    const head = (more: readonly string[]): Buffer =>
      Buffer.from(`${method} ${target} HTTP/1.1\r\n${[...headers, ...more].join('\r\n')}\r\n\r\n`, 'latin1');
    const isClean = !isBent || dice.once(2);
    if (body === undefined) return { bytes: head([]), method, isWhole: true, isLast: isBent };
    if (isClean) {
      const bytes = Buffer.concat([head([`Content-Length: ${content.length}`]), content]);
      return { bytes, method, isWhole: true, isLast: isBent };
    }
    if (dice.once(2)) {
      const size = 1 + dice.below(Math.min(content.length + 1, 5_000));
      const bytes = Buffer.concat([head(['Transfer-Encoding: chunked']), chunked(content, size)]);
      return { bytes, method, isWhole: true, isLast: true };
    }
    const length = dice.pick([
      content.length + 1 + dice.below(50),
      Math.max(0, content.length - 5),
      -1,
      'x',
      LIMITS.bodyBytes + 1,
      1e15,
    ]);
    return {
      bytes: Buffer.concat([head([`Content-Length: ${length}`]), content]),
      method,
      isWhole: false,
      isLast: true,
    };
  }

  private oddHeaders(): string[] {
    const { dice } = this;
    const odd = [
      ...[
        'X-Request-Id: mine',
        'X-Request-Id: two words',
        `X-Request-Id: ${'i'.repeat(300)}`,
        'X-Request-Id: \xff\xfe',
      ],
      ...[
        'Authorization: Bearer x',
        'Authorization: Basic YTpi',
        'Authorization:',
        `Authorization: Bearer ${'t'.repeat(4_000)}`,
      ],
      ...[
        'Origin: http://evil.example',
        'Origin: null',
        'Host: evil.example',
        'X-Forwarded-For: 1.2.3.4, rubbish',
      ],
      ...[
        'Connection: close',
        'Connection: Upgrade\r\nUpgrade: websocket',
        'Expect: 100-continue',
        'Expect: tea',
      ],
      ...[
        'Content-Type: text/plain',
        'Content-Type: application/json; charset=latin1',
        'Content-Encoding: gzip',
      ],
      ...[
        'Accept: text/html',
        'Last-Event-ID: 1',
        'Last-Event-ID: x',
        'Cookie: a=b',
        'TE: trailers',
        'Range: bytes=0-1',
      ],
      ...[
        `X-Long: ${'l'.repeat(dice.below(17_000))}`,
        'X-Many: 1\r\n'.repeat(dice.below(300)).trimEnd() || 'X-One: 1',
      ],
      ...['X\0: 1', ' folded: 1', 'X: a\0b', 'no colon here', 'Transfer-Encoding: identity'],
    ];
    return Array.from({ length: dice.below(3) }, () => dice.pick(odd));
  }
}

function textOf(fields: Fields): string {
  return `{${[...fields].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** Without its end an object is none; but nothing at all would be a body that asks for nothing. */
function cutShort(text: string, dice: Dice): string {
  return text.slice(0, 1 + dice.below(Math.max(1, text.length - 1)));
}

/** Lone surrogates have no UTF-8 form. */
function encoded(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, '\ufffd'));
}

function chunked(content: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) {
    const part = content.subarray(at, at + size);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
