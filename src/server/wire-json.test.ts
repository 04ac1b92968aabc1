// JSON as requests bring it: what is refused with 400 whichever way it arrives, what is taken although it looks odd,
// and that what the server remembers of a body keeps no more of it in memory than itself.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';

let served: Served;
beforeEach(async () => {
  served = await startServed();
});
afterEach(() => stopAllServed());

async function post(path: string, body: string | Buffer): Promise<{ status: number; body: Body }> {
  const { status, text } = await served.send('POST', path, { body });
  return { status, body: JSON.parse(text) };
}

/** Takes the fields of a creation, alone and as the only operation of a batch; both must be refused as a whole. */
async function expectRefused(fields: string, detail: RegExp): Promise<void> {
  for (const [path, body] of [
    ['/v1/tasks', `{${fields}}`],
    ['/v1/batch', `{"ops":[{"op":"task.create",${fields}}]}`],
  ] as const) {
    const answer = await post(path, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
    expect(answer.body.detail).toMatch(detail);
  }
}

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('a body that names a key twice', () => {
  it.each([
    '"payload":1,"queue":"a","queue":"b"',
    '"payload":1,"payload":1',
    '"payload":1,"p\\u0061yload":1',
    '"payload":1,"queue":"a","qu\\u0065ue":"b"',
    '"payload":1,"__proto__":1,"__proto__":2',
    '"payload":1,"":1,"":2',
    '"payload":1,"é":1,"é":2',
    '"payload":1,"x":{"payload":{"a":1,"a":2},"y":[{"a":1,"a":2}]}',
    '"payload":1,"1":1,"0":2,"1":3',
  ])('is refused: %s', async (fields) => {
    await expectRefused(fields, /^The body is not JSON that we take\. The key ".*" stands twice\.$/);
  });

  it('may do so inside of an opaque value', async () => {
    const { status } = await post('/v1/tasks', '{"task_id":"t","payload":{"a":1,"a":{"b":2,"b":2}}}');
    expect(status).toBe(201);
    const { text } = await served.send('GET', '/v1/tasks/t');
    expect(text).toContain('"payload":{"a":1,"a":{"b":2,"b":2}},');
  });
});

describe('an opaque key that is spelt with escapes', () => {
  it.each(['p\\u0061yload', '\\u0070\\u0061\\u0079\\u006c\\u006f\\u0061\\u0064'])(
    'is that key: %s',
    async (key) => {
      for (const [path, body] of [
        ['/v1/tasks', `{"task_id":"a","${key}" : 1.0 }`],
        ['/v1/batch', `{"ops":[{"op":"task.create","task_id":"b","${key}":\t1.0\n}]}`],
      ] as const) {
        expect((await post(path, body)).status).toBeLessThan(300);
      }
      for (const id of ['a', 'b']) {
        expect((await served.send('GET', `/v1/tasks/${id}`)).text).toContain('"payload":1.0,');
      }
    },
  );
});

describe('a key named __proto__', () => {
  it('is an unknown field like any other', async () => {
    const fields = '"payload":1,"__proto__":{"queue":"evil"}';
    const unknown = {
      code: 'INVALID_ARGUMENT',
      detail: expect.stringContaining('The field __proto__ is unknown'),
    };
    expect(await post('/v1/tasks', `{${fields}}`)).toMatchObject({ status: 400, body: unknown });
    expect(await post('/v1/batch', `{"ops":[{"op":"task.create",${fields}}]}`)).toMatchObject({
      status: 200,
      body: { results: [{ status: 400, body: unknown }] },
    });
    expect(await post('/v1/batch', '{"__proto__":{"ops":[]}}')).toMatchObject({ status: 400, body: unknown });
  });

  it('gives no field to what it stands in', async () => {
    const { body } = await post('/v1/tasks', '{"__proto__":{"payload":1}}');
    expect(body.code).toBe('INVALID_ARGUMENT');
  });
});

describe('a body that is nested deep', () => {
  it('is refused beyond a thousand levels, opaque or not', async () => {
    await expectRefused(`"payload":${nested(1_001)}`, /It is nested more than 1000 deep\.$/);
    await expectRefused(`"payload":${nested(400_000)}`, /It is nested more than 1000 deep\.$/);
    await expectRefused(`"payload":1,"queue":${nested(1_001)}`, /It is nested more than 1000 deep\.$/);
  });

  it('may have opaque values of a thousand levels, which come back wherever they stand', async () => {
    const value = nested(1_000);
    expect((await post('/v1/tasks', `{"task_id":"a","payload":${value}}`)).status).toBe(201);
    const batch = `{"ops":[{"op":"task.create","task_id":"b","payload":${value}},{"op":"task.lease","worker_id":"w"}]}`;
    expect((await post('/v1/batch', batch)).status).toBe(200);
    expect((await served.send('GET', '/v1/tasks')).text.split(`"payload":${value},`)).toHaveLength(3);
  });

  it('is measured by what is open, not by what was', async () => {
    const wide = `[${'[],{},[1],{"a":1},"[[[",'.repeat(2_000)}0]`;
    expect((await post('/v1/tasks', `{"payload":${wide}}`)).status).toBe(201);
  });
});

describe('a body that is not UTF-8', () => {
  it.each([
    ['a lone byte', [0xff]],
    ['a cut character', [0xc3]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
  ])('is refused wherever it stands: %s', async (_, wrong) => {
    const text = (before: string, after: string) =>
      Buffer.concat([Buffer.from(before), Buffer.from(wrong), Buffer.from(after)]);
    for (const [path, body] of [
      ['/v1/tasks', text('{"payload":"', '"}')],
      ['/v1/tasks', text('{"payload":1,"queue":"', '"}')],
      ['/v1/batch', text('{"ops":[{"op":"task.create","payload":"', '"}]}')],
    ] as const) {
      const answer = await post(path, body);
      expect([answer.status, answer.body.detail]).toEqual([400, 'The body is not valid UTF-8.']);
    }
  });
});

describe('a text that is almost JSON', () => {
  it.each([
    '',
    '{',
    '[1,]',
    '{"a"}',
    '01',
    '1.',
    '.5',
    '-',
    '1e',
    '1 2',
    'nul',
    'NaN',
    '"\\x"',
    '"\\u00g0"',
    '"\n"',
    "'a'",
    '{"a":1,}',
    '[}',
    '{"a":1]',
    '[1}',
    '"',
    '"\\"',
    '\u00a01',
    '\ufeff1',
    '1/**/',
    '1,,"x":1',
    '{"payload":}',
    '"a""b"',
    '"a":1',
  ])('is refused as an opaque value: %j', async (value) => {
    await expectRefused(`"payload":${value}`, /^The body is not JSON that we take\. ./);
  });

  it('is taken exactly when the built-in parser takes it', async () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        '"payload":',
        '"p\\u0061yload" :',
        '"a":',
        '{"a":1}',
        '[]',
      ],
      ...['1', '01', '-0', '1.', '1e5', 'true', 'tru', 'null', ' ', '\n', '"é"', '"\\u00e9"', '"\\""', '😀'],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 7 }), async (pieces) => {
        const value = pieces.join('');
        let isJson = true;
        try {
          JSON.parse(`{"payload":${value}}`);
        } catch {
          isJson = false;
        }
        const { status, body } = await post('/v1/tasks', `{"payload":${value}}`);
        if (!isJson) expect([status, body.detail]).toEqual([400, expect.stringContaining('not JSON')]);
        else if (status === 400) expect(body.detail).toMatch(/stands twice|is unknown|payload/);
        else expect(status).toBe(201);
      }),
      { numRuns: 500 },
    );
  });
});

describe('what is remembered of a body', () => {
  const PAD = 'x'.repeat(900_000);

  /** How much more is in use after a good many large requests of which little is remembered. */
  async function growth(send: (index: number) => Promise<unknown>): Promise<number> {
    for (let index = 0; index < 5; index++) await send(index);
    const before = bytesInUse();
    for (let index = 5; index < 45; index++) await send(index);
    return bytesInUse() - before;
  }

  it('does not keep the rest of it in memory: names and small values beside large ones', async () => {
    const grown = await growth(async (index) => {
      const name = `lease-${index}-whose-name-is-remembered`;
      const acquire = `{"op":"lease.acquire","name":"${name}","holder":"h","ttl_ms":60000,"metadata":{"n":${index}}}`;
      const body = `{"ops":[${acquire},{"op":"task.lease","worker_id":"w","queues":["${PAD}"]}]}`;
      expect((await post('/v1/batch', body)).status).toBe(200);
      const { status } = await post(
        `/v1/leases/${name}-too/acquire`,
        `{"holder":"h-${index}","ttl_ms":60000,"metadata":{"n":${index}}${' '.repeat(900_000)}}`,
      );
      expect(status).toBe(200);
    });
    expect(grown).toBeLessThan(15_000_000);
  });
});
