// The reader of requests and replies, held against the built-in parser: the same values, the same refusals, and
// two differences, which are promises: opaque fields keep their text, and no object names a key twice.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import { Json } from './json.ts';
import { DEPTH_MAX, isTooDeep, JsonError, readJson } from './read-json.ts';

const OPAQUE = ['payload', 'result', 'value', 'metadata', 'late_result'];

/** Keys the reader knows, keys that only look like them, and keys of any kind. */
const key = fc.oneof(
  fc.constantFrom(...OPAQUE, 'op', 'task_id', 'lease_seq', 'requestId', 'results', 'body', 'holder_id'),
  fc.constantFrom('task_ie', 'task_i', 'task_idd', 'op_', 'Op', '', '__proto__', 'constructor', 'a b', 'é'),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

const scalar = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.integer(),
  fc.constantFrom(true, false, null, 0, -0, 1e21, 1e-7, Number.MAX_SAFE_INTEGER, 2 ** 53 + 2, 12.5),
);

const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    scalar,
    fc.array(tie('tree'), { maxLength: 5 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 8 }),
  ),
}));

/** What is the same in both readers: the text of the value, an opaque field by its value. */
const rendered = (value: unknown): string => JSON.stringify(value);

/** How a text is taken: rendered, or refused. */
function outcome(read: (text: string) => unknown, text: string): string {
  try {
    return rendered(read(text));
  } catch (fault) {
    if (fault instanceof SyntaxError) return 'refused';
    if (fault instanceof JsonError)
      return /stands twice|nested more/.test(fault.message) ? 'stricter' : 'refused';
    throw fault;
  }
}

describe('reading JSON', () => {
  it('gives what the built-in parser gives, for any value and any spacing', () => {
    fc.assert(
      fc.property(tree, fc.constantFrom('', ' ', '\t', '\n  '), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(rendered(readJson(text))).toBe(rendered(JSON.parse(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes and refuses what the built-in parser takes and refuses, for texts that are almost JSON', () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          '"',
          '\\',
          '"op"',
          '"task_id":',
          '"payload":',
          '{"a":1}',
        ),
        fc.constantFrom(
          '1',
          '01',
          '-',
          '-0',
          '1.',
          '.5',
          '1e5',
          '1E+',
          'true',
          'tru',
          'null',
          'NaN',
          '12345678901234567890',
        ),
        fc.constantFrom(
          ' ',
          '\n',
          '\u00a0',
          '\u0000',
          '"\u001f"',
          '"\\u00e9"',
          '"\\u00g0"',
          '"\\x"',
          '"\\/"',
          '"é"',
          '😀',
        ),
      ),
      { maxLength: 7 },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join('');
        const ours = outcome(readJson, text);
        if (ours !== 'stricter') expect(ours).toBe(outcome(JSON.parse, text));
      }),
      { numRuns: 10_000 },
    );
  });

  it('takes and refuses what the built-in parser does, for JSON with one character changed', () => {
    const change = fc.record({
      value: tree,
      where: fc.nat(),
      put: fc.oneof(
        fc.constantFrom('', '"', ',', '}', ']', ':', '\\', '0', 'e', ' '),
        fc.string({ unit: 'binary', size: '-1' }),
      ),
    });
    fc.assert(
      fc.property(change, ({ value, where, put }) => {
        const whole = JSON.stringify(value);
        const place = where % (whole.length + 1);
        // Half a character has no bytes, so no text that arrives has one.
        const text = Buffer.from(whole.slice(0, place) + put + whole.slice(place + 1)).toString();
        const ours = outcome(readJson, text);
        if (ours !== 'stricter') expect(ours).toBe(outcome(JSON.parse, text));
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ['{"a":"\\u0041\\n\\"\\\\\\/\\b\\f\\r\\t\\ud83d\\ude00"}', { a: 'A\n"\\/\b\f\r\t😀' }],
    ['"\\ud800"', '\ud800'],
    ['[0,-0,10,7e0]', [0, -0, 10, 7]],
    ['123456789012345678', 123456789012345680],
    ['999999999999999', 999999999999999],
    [' \t\r\n [ ] ', []],
    ['{ "op" : { } }', { op: {} }],
  ])('reads %s', (text, value) => {
    expect(readJson(text)).toEqual(value);
  });

  it('reads whole numbers of any length to the nearest that there is', () => {
    const digits = fc.array(fc.nat(9), { minLength: 14, maxLength: 22 }).map((each) => `1${each.join('')}`);
    fc.assert(
      fc.property(digits, fc.boolean(), (number, isNegative) => {
        const text = isNegative ? `-${number}` : number;
        expect(readJson(`[${text}]`)).toEqual([Number(text)]);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '',
    ' ',
    '{',
    '{"op"',
    '{"op":',
    '{"op":1',
    '{"op":1,',
    '[',
    '[1',
    '[1,',
    '"',
    '"\\',
    '"\\u12',
    'tr',
    '-',
    '1e',
    '{"payload":',
  ])('says that %j ends too early or goes wrong', (text) => {
    expect(() => readJson(text)).toThrow(JsonError);
  });

  it('says what the built-in parser says of the whole text', () => {
    for (const text of ['{"op":x}', '{"payload":x}', '{"payload":1,"op":x}', '{"op":"abc', '{"op":1} 2']) {
      let says = '';
      try {
        JSON.parse(text);
      } catch (fault) {
        says = (fault as Error).message;
      }
      expect(() => readJson(text)).toThrow(new JsonError(says));
    }
  });

  it('reads texts of every size, ASCII or not, far beyond what it keeps room for', () => {
    for (const length of [65_534, 65_535, 65_536, 5_000_000]) {
      expect(readJson(`["${'a'.repeat(length)}"]`)).toEqual(['a'.repeat(length)]);
      expect(readJson(`["${'é'.repeat(length)}"]`)).toEqual(['é'.repeat(length)]);
    }
  });
});

describe('what is remembered of a text', () => {
  const PAD = 'x'.repeat(1_000_000);
  const bytesOf = (index: number) =>
    Buffer.from(
      `{"worker_id":"worker-${index}-of-many-that-came","payload":{"n":${index},"of":"many"},"pad":"${PAD}"}`,
    );

  it.each([
    ['a name', 'worker_id'],
    ['an opaque value', 'payload'],
  ])('does not keep the rest of it in memory: %s', (_, field) => {
    const kept: unknown[] = [(readJson(bytesOf(0)) as Record<string, unknown>)[field]];
    const before = bytesInUse();
    for (let index = 1; index <= 50; index++) {
      kept.push((readJson(bytesOf(index)) as Record<string, unknown>)[field]);
    }
    expect(bytesInUse() - before).toBeLessThan(10_000_000);
    expect(kept).toHaveLength(51);
  });

  it('is the same for who keeps the bytes of opaque values', () => {
    const read = (text: string) =>
      readJson(Buffer.from(text), (bytes, from, to) => new Json(Buffer.from(bytes.slice(from, to))));
    const first = read('{"payload":{"n": 1.0,"é":"😀"}}') as { payload: Json };
    const second = read('{"payload":"another text that is longer"}') as { payload: Json };
    expect(first.payload.isText).toBe(false);
    expect(first.payload.text()).toBe('{"n": 1.0,"é":"😀"}');
    expect(second.payload.text()).toBe('"another text that is longer"');
  });
});

describe('a string that begins with a byte order mark', () => {
  it('keeps it', () => {
    expect(readJson('["\ufeffa","é\ufeff"]')).toEqual(['\ufeffa', 'é\ufeff']);
  });
});

describe('an object that names a key twice', () => {
  it.each([
    '{"op":1,"op":2}',
    '{"a":1,"a":2}',
    '{"a":1,"b":{"a":2},"a":3}',
    '{"op":1,"ops":{"op":2},"op":3}',
    '{"\\u006fp":1,"op":2}',
    '{"op":1,"\\u006fp":2}',
    '{"\\u0061":1,"a":2}',
    '{"payload":1,"payload":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"":1,"":2}',
    '{"requestId":1,"requestId":1}',
    '{"é":1,"é":2}',
  ])('is refused: %s', (text) => {
    expect(() => readJson(text)).toThrow(/^The key ".*" stands twice\.$/);
  });

  it('may have the same key in an object inside, beside, or in an opaque field', () => {
    for (const text of ['{"op":{"op":{"op":1}}}', '[{"op":1},{"op":1}]', '{"payload":{"a":1,"a":2}}']) {
      expect(() => readJson(text)).not.toThrow();
    }
  });

  it('is found wherever the second one stands', () => {
    fc.assert(
      fc.property(
        fc.dictionary(key, fc.integer(), { minKeys: 1 }),
        fc.nat(),
        fc.nat(),
        (object, which, where) => {
          const fields = Object.entries(object).map(([name, value]) => `${JSON.stringify(name)}:${value}`);
          fields.splice(where % (fields.length + 1), 0, fields[which % fields.length]!);
          expect(() => readJson(`{${fields.join(',')}}`)).toThrow(/stands twice/);
        },
      ),
    );
  });
});

describe('a key named __proto__', () => {
  it('is a field like any other and changes no prototype', () => {
    const read = readJson('{"__proto__":{"polluted":true},"op":1}') as Record<string, unknown>;
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(Object.keys(read)).toEqual(['__proto__', 'op']);
    expect(read.polluted).toBeUndefined();
  });
});

describe('opaque fields', () => {
  const texts = [
    '1.0',
    '1e400',
    '123456789012345678901234567890',
    '"\\u0041"',
    '{ "b" : 1,\n"a":2 }',
    '[ ]',
    'null',
  ];
  const odd = ['{"__proto__":1}', '{"a":1,"a":2}', '"é😀"', '-0', '[[],{},"}",{"\\"":"]"}]'];

  it.each([...texts, ...odd])('keep %s byte for byte', (text) => {
    for (const field of OPAQUE) {
      const read = readJson(`{"op":1, "${field}" : ${text} ,"seq":2}`) as Record<string, unknown>;
      expect(read[field]).toBeInstanceOf(Json);
      expect((read[field] as Json).text()).toBe(text);
      expect(read.seq).toBe(2);
    }
  });

  it('keep any value in any spacing byte for byte', () => {
    fc.assert(
      fc.property(tree, fc.constantFrom('', ' ', '\n'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        const read = readJson(`[{"op":1,"payload":${text}}]`) as [{ payload: Json }];
        expect(read[0].payload.text()).toBe(text);
      }),
    );
  });

  it('are found under a key that is spelled with escapes', () => {
    expect(readJson('{"p\\u0061yload":1.0}')).toMatchObject({ payload: new Json('1.0') });
  });

  it('are checked although they are not parsed', () => {
    for (const text of ['{', '[1,]', '{"a"}', '01', '"\\x"', 'nul', '{"a":1,}', '[}', "'a'", '"\n"']) {
      expect(() => readJson(`{"payload":${text}}`)).toThrow(JsonError);
    }
  });
});

describe('depth', () => {
  const nested = (levels: number, open: string, close: string): string =>
    open.repeat(levels) + close.repeat(levels);

  it('may be a thousand and no more, whether parsed or opaque', () => {
    expect(() => readJson(nested(1_000, '[', ']'))).not.toThrow();
    expect(() => readJson(nested(1_001, '[', ']'))).toThrow('It is nested more than 1000 deep.');
    expect(() => readJson(`{"payload":${nested(1_000, '[', ']')}}`)).not.toThrow();
    expect(() => readJson(`{"payload":${nested(1_001, '[', ']')}}`)).toThrow(JsonError);
    expect(() => readJson(`{"payload":${nested(1_000_000, '[', ']')}}`)).toThrow(JsonError);
  });

  it('of an opaque value does not count what is around it: what one envelope took, every other one can hold', () => {
    const value = nested(1_000, '[', ']');
    const reply = `{"results":[{"status":200,"body":{"leases":[{"payload":${value},"attempt":1}]}}]}`;
    expect(() => readJson(reply)).not.toThrow();
    expect(() => readJson(`${'['.repeat(999)}{"payload":${value}}${']'.repeat(999)}`)).not.toThrow();
    expect(() => readJson(`${'['.repeat(1_000)}{"payload":1}${']'.repeat(1_000)}`)).toThrow(JsonError);
  });

  it('counts containers that are open, not those that were', () => {
    expect(() => readJson(`[${'[],{},[1],{"a":1},'.repeat(2_000)}0]`)).not.toThrow();
    expect(() => readJson(`{"payload":[${'[],{},[1],{"a":1},'.repeat(2_000)}0]}`)).not.toThrow();
  });
});

const encoder = new TextEncoder();

/** What the reader says of the same text. */
function isRefused(text: string): boolean {
  try {
    readJson(`{"payload":${text}}`);
    return false;
  } catch (fault) {
    if (fault instanceof JsonError && fault.message.includes('deep')) return true;
    throw fault;
  }
}

describe('a value made in process that is nested too deep', () => {
  it('is found where the reader finds it, whatever stands inside and beside', () => {
    const depth = fc.integer({ min: DEPTH_MAX - 3, max: DEPTH_MAX + 3 });
    const nasty = fc.string({
      unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', 'é', 'x'),
      maxLength: 80,
    });
    fc.assert(
      fc.property(
        depth,
        fc.array(fc.boolean(), { minLength: 1 }),
        nasty,
        nasty,
        (levels, kinds, inside, key) => {
          let value: unknown = inside;
          for (let level = 0; level < levels; level++) {
            value = kinds[level % kinds.length] ? [inside, value] : { [key]: value, after: [] };
          }
          const text = JSON.stringify(value);
          expect(isTooDeep(encoder.encode(text))).toBe(isRefused(text));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('has at least as many characters as its brackets', () => {
    const brackets = (depth: number) => encoder.encode('['.repeat(depth) + ']'.repeat(depth));
    expect(isTooDeep(brackets(DEPTH_MAX))).toBe(false);
    expect(isTooDeep(brackets(DEPTH_MAX + 1))).toBe(true);
  });
});
