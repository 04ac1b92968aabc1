// From bytes, path and query to the request they mean: strictly, with opaque fields as their own text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import type { Json } from '../protocol/json.ts';
import { readBatch, readBody, readQuery, withPathFields } from './request-bytes.ts';

const bytes = (text: string) => Buffer.from(text);
const refused = (detail: string | RegExp) => ({
  refused: 'INVALID_ARGUMENT',
  detail: typeof detail === 'string' ? detail : expect.stringMatching(detail),
});

describe('a body', () => {
  it('that is not there asks for nothing', () => {
    expect(readBody(undefined)).toEqual({});
    expect(readBody(Buffer.alloc(0))).toEqual({});
  });

  it('gives its fields, with opaque ones as the text that came in', () => {
    const body = readBody(
      bytes('{"queue":"mail","payload" : { "b":1.0, "a":12345678901234567890 } ,"priority":-3}'),
    );
    expect(body).toMatchObject({ queue: 'mail', priority: -3 });
    expect((body as { payload: Json }).payload.text()).toBe('{ "b":1.0, "a":12345678901234567890 }');
  });

  it('keeps its opaque fields whatever is read after it', () => {
    const first = readBody(bytes('{"payload":"the first"}')) as { payload: Json };
    readBody(bytes('{"payload":"a second, which is longer"}'));
    expect(first.payload.text()).toBe('"the first"');
  });

  it('beyond ASCII keeps every character', () => {
    const body = readBody(bytes('{"queue":"Grüße 日本 😀","payload":"é\\u00e9"}')) as { payload: Json };
    expect(body).toMatchObject({ queue: 'Grüße 日本 😀' });
    expect(body.payload.text()).toBe('"é\\u00e9"');
  });

  it('of a batch is read alike, and its opaque fields are the bytes that came in', () => {
    const body = bytes('{"ops":[{"queue":"Grüße","payload": 1.0 },{"value":[{"ü" : 0}],"op":"日本"}]}');
    const { ops } = readBatch(body) as { ops: { payload?: Json; value?: Json }[] };
    expect(ops).toMatchObject([{ queue: 'Grüße' }, { op: '日本' }]);
    const found = [ops[0]!.payload!, ops[1]!.value!];
    expect(found.map((json) => json.text())).toEqual(['1.0', '[{"ü" : 0}]']);
    for (const json of found) expect(json.bytes.buffer).toBe(body.buffer);
    expect(readBatch(bytes('[]'))).toEqual(refused('The body is not a JSON object.'));
  });

  it.each(['[]', '1', '"{}"', 'null', 'true'])('that is %s is no object', (text) => {
    expect(readBody(bytes(text))).toEqual(refused('The body is not a JSON object.'));
  });

  it.each([
    '{',
    '{"a":1}}',
    '{"a":01}',
    "{'a':1}",
    '{"a":1,}',
    '{a:1}',
    '{"a":NaN}',
    '\u{feff}{}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '\0',
    ' ',
  ])('that is %j is no JSON', (text) => {
    expect(readBody(bytes(text))).toEqual(refused(/^The body is not JSON that we take\. .+/));
  });

  it.each([
    '{"a":1,"a":2}',
    '{"queue":"a","queue":"b"}',
    '{"queue":"a","qu\\u0065ue":"b"}',
    '{"payload":1,"payload":1}',
  ])('that names a key twice is refused: %s', (text) => {
    expect(readBody(bytes(text))).toEqual(
      refused(/^The body is not JSON that we take\. The key ".+" stands twice\.$/),
    );
  });

  it.each([
    ['a lone byte', [0xff]],
    ['a cut character', [0xc3]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
  ])('with invalid UTF-8 is refused: %s', (_, wrong) => {
    const body = Buffer.concat([bytes('{"payload":"'), Buffer.from(wrong), bytes('"}')]);
    expect(readBody(body)).toEqual(refused('The body is not valid UTF-8.'));
  });

  it('cannot reach the prototype', () => {
    const body = readBody(bytes('{"__proto__":{"queue":"evil"},"constructor":1}')) as object;
    expect(Object.keys(body)).toEqual(['__proto__', 'constructor']);
    expect((body as { queue?: string }).queue).toBeUndefined();
  });

  it('is an object exactly when JSON.parse says so', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const body = readBody(bytes(text));
        let value: unknown;
        try {
          value = JSON.parse(text);
        } catch {
          value = undefined;
        }
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
        expect(Object.hasOwn(body, 'refused')).toBe(text !== '' && !isObject);
      }),
    );
  });
});

describe('a field in the path', () => {
  it('does not keep the rest of the URL in memory', () => {
    const fieldOf = (index: number): unknown => {
      const url = Buffer.from(
        `/v1/workers/worker-${index}-of-many/heartbeat?${'&'.repeat(1_000_000)}`,
      ).toString();
      const fields = withPathFields(
        {},
        { worker_id: url.slice('/v1/workers/'.length, url.indexOf('/heartbeat')) },
      );
      return (fields as { worker_id: string }).worker_id;
    };
    const kept = [fieldOf(0)];
    const before = bytesInUse();
    for (let index = 1; index <= 50; index++) kept.push(fieldOf(index));
    expect(bytesInUse() - before).toBeLessThan(10_000_000);
    expect(kept[50]).toBe('worker-50-of-many');
  });

  it('joins those of the body', () => {
    expect(withPathFields({ holder: 'h' }, { name: 'n' })).toEqual({ holder: 'h', name: 'n' });
  });

  it('may not stand in the body too, be it the same', () => {
    const detail = 'The field name is in the path and may not stand in the body.';
    expect(withPathFields({ name: 'n' }, { name: 'n' })).toEqual(refused(detail));
  });
});

describe('a query', () => {
  const numbers = new Set(['limit', 'wait_ms']);

  it('gives whole numbers where numbers are wanted, and text elsewhere', () => {
    const fields = readQuery({ limit: '20', wait_ms: '0', queue: '20', cursor: '7' }, numbers);
    expect(fields).toEqual({ limit: 20, wait_ms: 0, queue: '20', cursor: '7' });
  });

  it.each(['', ' 1', '1 ', '01', '+1', '-1', '1.0', '1e3', '0x10', '١', 'Infinity', '12345678901234567'])(
    'leaves %j for the check to refuse: it is no number of ours',
    (limit) => {
      expect(readQuery({ limit }, numbers)).toEqual({ limit });
    },
  );

  it('leaves repeated fields as the list they are', () => {
    expect(readQuery({ limit: ['1', '2'] }, numbers)).toEqual({ limit: ['1', '2'] });
  });

  it('cannot reach the prototype', () => {
    const query = Object.create(null) as Record<string, unknown>;
    Object.defineProperty(query, '__proto__', { value: 'evil', enumerable: true });
    const fields = readQuery(query, numbers);
    expect(Object.keys(fields)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  });
});
