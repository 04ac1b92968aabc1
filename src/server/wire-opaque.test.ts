// Payloads, results, values and metadata: the JSON text that went in comes out, byte for byte, whichever way it is
// looked at, from the wire to the disk and back.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { type Engine, LogCompactedError } from '../engines/log.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { nodeFiles } from '../world/node-files.ts';
import { nodeThreads } from '../world/node-threads.ts';

let dir: string;
let served: Served;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-opaque-'));
  served = await startServed({ engine: engine() });
});
afterEach(async () => {
  await stopAllServed();
  rmSync(dir, { recursive: true, force: true });
});

const engine = () =>
  fileEngine({ dir, files: nodeFiles, threads: nodeThreads, allowNetworkFileSystem: true });

/** Texts that most programs would change on their way. */
const TEXTS: readonly (readonly [says: string, text: string])[] = [
  ['a number with a zero behind its point', '1.0'],
  ['more digits than a number holds', '12345678901234567890.1234567890123456789'],
  ['a number beyond all numbers', '1e400'],
  ['minus zero', '-0'],
  ['capital exponents', '1E+2'],
  ['keys in their order', '{"b":1,"a":2,"10":3,"9":4}'],
  ['keys that programs trip over', '{"__proto__":{"x":1},"constructor":2,"toString":3,"":4}'],
  ['a key twice', '{"a":1,"a":2}'],
  ['text that looks like our own fields', '"{\\"payload\\":1,\\"payload\\":2}"'],
  ['our own fields', '{"payload":{"ok":true,"op":"task.create"},"result":1.0,"value":2.0,"ops":[]}'],
  ['escapes as they are spelt', '"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\\\u00e9\\uD83D\\uDE00"'],
  ['half a surrogate pair', '"\\ud800 \\udc00"'],
  ['a NUL, escaped', '"\\u0000"'],
  ['letters beyond ASCII', '"Grüße, 日本, 😀, \u2028\u2029"'],
  ['letters that look alike', '"\u00e9 e\u0301 \ufb01"'],
  ['spaces between its tokens', '{ "a" :\t[ 1 , 2 ] }'],
  ['a long list', `[${Array.from({ length: 5_000 }, (_, n) => `${n}.0`).join(',')}]`],
  ['a deep nest', `${'['.repeat(900)}1.0${']'.repeat(900)}`],
  ['an empty object', '{}'],
  ['an empty list', '[]'],
  ['an empty string', '""'],
  ['null', 'null'],
  ['false', 'false'],
  ['zero', '0'],
];

/** How a field stands in a body: nothing else around it may be like it. */
const field = (name: string, text: string): string => `"${name}":${text}`;

async function post(path: string, body: string, method = 'POST'): Promise<string> {
  const { status, text } = await served.send(method, path, { body });
  expect(status, text).toBeLessThan(300);
  return text;
}
const get = async (path: string): Promise<string> => (await served.send('GET', path)).text;

describe('an opaque value', () => {
  it.each(TEXTS)('with %s comes back byte for byte', async (_, text) => {
    await post('/v1/tasks', `{"task_id":"t","payload":${text},"queue":"q"}`);
    const leased = await post('/v1/tasks/lease', '{"worker_id":"w","queues":["q"]}');
    expect(leased).toContain(`${field('payload', text)},"queue"`);
    expect(await get('/v1/tasks/t')).toContain(`${field('payload', text)},"state"`);
    expect(await get('/v1/tasks')).toContain(`${field('payload', text)},"state"`);
    expect(await get('/v1/tasks/t/history')).toContain(field('payload', text));
    expect(await get('/v1/log?from=1')).toContain(field('payload', text));

    const { lease_seq } = JSON.parse(
      await post('/v1/leases/o/acquire', `{"holder":"h","ttl_ms":60000,"metadata":${text}}`),
    );
    expect(await get('/v1/leases/o')).toContain(field('metadata', text));
    expect(await get('/v1/leases')).toContain(field('metadata', text));
    expect(await get('/v1/leases/o/history')).toContain(field('metadata', text));

    await post('/v1/objects/o', `{"value":${text},"lease":{"lease_seq":${lease_seq}}}`, 'PUT');
    expect(await get('/v1/objects/o')).toContain(`${field('value', text)},"version"`);

    const { lease_id } = JSON.parse(leased).leases[0];
    const write = `{"object_id":"o","value":${text},"lease":{"lease_seq":${lease_seq}}}`;
    await post('/v1/tasks/t/complete', `{"lease_id":"${lease_id}","result":${text},"writes":[${write}]}`);
    expect(await get('/v1/tasks/t')).toContain(field('result', text));
    expect(await get('/v1/objects/o')).toContain(`${field('value', text)},"version":2`);
  });

  it.each(TEXTS)('with %s comes back byte for byte from a batch, and after a restart', async (_, text) => {
    const create = `{"op":"task.create","task_id":"t","payload":${text},"queue":"q"}`;
    const batch = await post(
      '/v1/batch',
      `{"ops":[${create},{"op":"task.lease","worker_id":"w","queues":["q"]}]}`,
    );
    expect(batch).toContain(`${field('payload', text)},"queue"`);
    await served.stop();
    served = await startServed({ engine: engine() });
    expect(await get('/v1/tasks/t')).toContain(`${field('payload', text)},"state"`);
    const again = await post('/v1/batch', `{"ops":[${create}]}`);
    expect(JSON.parse(again).results[0]).toMatchObject({ status: 200, body: { duplicate: true } });
  });

  it('that differs by one byte of space is another payload', async () => {
    await post('/v1/tasks', '{"task_id":"t","payload":{"a":1}}');
    const { status } = await served.send('POST', '/v1/tasks', { body: '{"task_id":"t","payload":{"a": 1}}' });
    expect(status).toBe(409);
  });

  it('that came too late is kept as it came', async () => {
    await post('/v1/tasks', '{"task_id":"t","payload":1}');
    const leased = JSON.parse(await post('/v1/tasks/lease', '{"worker_id":"w","ttl_ms":1000}'));
    served.advance(1_000);
    const late = await post(
      '/v1/tasks/t/complete',
      `{"lease_id":"${leased.leases[0].lease_id}","result":{"z":1.0,"a":2}}`,
    );
    expect(JSON.parse(late).outcome).toBe('CANCELLED');
    expect(await get('/v1/tasks/t')).toContain('"late_result":{"z":1.0,"a":2}');
  });

  it('in a stream of lines has its line breaks turned into spaces, and nothing else', async () => {
    await post('/v1/tasks', '{"payload":{\n"a":\r\n1.0}}');
    expect(await get('/v1/log?from=1')).toContain('"payload":{ "a":  1.0}');
    const stream = await served.stream('/v1/events?from=1');
    const events = [await stream.event(), await stream.event()];
    expect(events.at(-1)?.data.payload).toEqual({ a: 1 });
    stream.destroy();
  });
});

describe('bytes that move faster than they can be looked up', () => {
  it('are answered with UNAVAILABLE and not with INTERNAL: a repeated call finds them', async () => {
    const memory = memoryEngine();
    let isMoving = false;
    const moving: Engine = {
      async open(replay) {
        const log = await memory.open(replay);
        const read = log.read.bind(log);
        log.read = (reference) =>
          isMoving ? Promise.reject(new LogCompactedError('The bytes have moved.')) : read(reference);
        return log;
      },
    };
    const other = await startServed({ engine: moving });
    await other.done('task.create', { task_id: 't', payload: 1 });
    isMoving = true;
    const { status, body } = await other.call('task.get', { task_id: 't' });
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
    isMoving = false;
    expect(await other.done('task.get', { task_id: 't' })).toMatchObject({ payload: 1 });
  });
});
