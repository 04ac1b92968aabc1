// Replies that come often are read in a way of their own, which must tell nothing that the other would not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import { Json } from '../protocol/json.ts';
import { JsonError, readJson } from '../protocol/json-reader.ts';
import { readUsualReply } from './usual-replies.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const results = (...texts: string[]): string => `{"results":[${texts.join(',')}]}`;

const INSTANT = '2026-01-02T03:04:05.678Z';
const CREATED = `{"status":201,"body":{"task_id":"t-1","seq":7,"state":"WAITING","attempt":0,"queue":"mail","priority":3,"created_at":"${INSTANT}","due_at":"${INSTANT}"}}`;
const TASK = `{"task_id":"t-1","lease_id":"l0a","lease_seq":8,"attempt":1,"payload":{"n": 1.0},"queue":"mail","expiry_timestamp":"${INSTANT}","expires_at":"${INSTANT}","remaining_ms":30000}`;
const LEASES = `{"leases":[${TASK},${TASK.replaceAll('t-1', 't-2').replace('mail', 'post')}],"seq":9}`;
const LEASED = `{"status":200,"body":${LEASES}}`;
const COMPLETED =
  '{"status":200,"body":{"outcome":"COMMITTED","task_id":"t-1","state":"COMPLETED","seq":10}}';
const REFUSED = '{"status":404,"body":{"code":"TASK_NOT_FOUND","detail":"ü"}}';

/** With the text of opaque values in their place, and without the `ok` that does not travel. */
function plain(value: unknown): unknown {
  if (value instanceof Json) return { text: value.text() };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const { ok, ...rest } = value as { ok?: true };
  return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, plain(inner)]));
}

/** What is read in this way is what anybody else reads, down to the order of the fields. */
function expectAlike(text: string): void {
  const usual = readUsualReply(bytes(text));
  if (usual !== null) expect(JSON.stringify(plain(usual))).toBe(JSON.stringify(plain(readJson(bytes(text)))));
}

/** By a function of its own, so that nothing of it stays on the stack. */
function readLong(length: number): void {
  const [head, tail] = `{"leases":[${TASK}],"seq":9}`.split('1.0') as [string, string];
  const body = new Uint8Array(head.length + length + tail.length + 2).fill(0x78);
  body.set(bytes(`${head}"`));
  body.set(bytes(`"${tail}`), head.length + length + 1);
  if (readUsualReply(body) === null) throw new Error('It was not recognised.');
}

describe('a reply that comes often', () => {
  it.each([
    ['tasks created', results(CREATED, CREATED.replace('t-1', 't-2').replace('mail', 'post'))],
    ['tasks leased', results(LEASED, LEASED)],
    ['tasks completed', results(COMPLETED, COMPLETED.replace('10', '123456789012345'))],
    ['all of them', results(COMPLETED, LEASED, CREATED, CREATED, LEASED)],
    ['tasks for who waited', LEASES],
    ['with others between', results(CREATED, REFUSED, '{"status":200,"body":{}}', COMPLETED, 'null')],
  ])('is recognised: %s', (_, text) => {
    expect(readUsualReply(bytes(text))).not.toBe(null);
    expectAlike(text);
  });

  it('takes no text for the newest one that only begins or ends like it', () => {
    const queues = ['mail', 'mailbox', 'mail', 'ma', 'il', 'mail'];
    const text = results(...queues.map((queue) => CREATED.replace('mail', queue)));
    const reply = readUsualReply(bytes(text)) as { results: { body: { queue: string } }[] };
    expect(reply.results.map(({ body }) => body.queue)).toEqual(queues);
  });

  it('gives payloads as the text that was put in', () => {
    const { leases } = readUsualReply(bytes(LEASES.replaceAll('1.0', '1.0e2, "ü": "ß"'))) as {
      leases: { payload: Json }[];
    };
    expect(leases.map(({ payload }) => payload.text())).toEqual(new Array(2).fill('{"n": 1.0e2, "ü": "ß"}'));
  });

  it.each([
    ['nothing', ''],
    ['no list', '{}'],
    ['an empty list', results()],
    ['tasks that nobody got', '{"leases":[],"seq":9}'],
    ['leases with more fields', LEASES.replace('"seq":9', '"seq":9,"duplicate":true')],
    ['spaces', ` ${LEASES}`],
    ['more behind it', `${LEASES} `],
    ['a list that goes on', results(CREATED).replace(']', ',]')],
    ['half of it', LEASES.slice(0, -1)],
    ['a payload that is no JSON', LEASES.replace('1.0', '01')],
  ])('is left to others when there is %s', (_, text) => {
    expect(readUsualReply(bytes(text))).toBe(null);
  });

  it.each([
    ['a fraction', CREATED.replace('"seq":7', '"seq":7.5')],
    ['a number below zero', CREATED.replace('"priority":3', '"priority":-3')],
    ['a zero in front', CREATED.replace('"seq":7', '"seq":07')],
    ['a number that is too large to be sure of', CREATED.replace('"seq":7', '"seq":90071992547409931')],
    ['an escape', CREATED.replace('mail', 'm\\u0061il')],
    ['a queue beyond ASCII', CREATED.replace('mail', 'Post für alle')],
    ['another state', CREATED.replace('WAITING', 'LEASED')],
    ['a duplicate', CREATED.replace('}}', ',"duplicate":true}}')],
    ['a cancelled completion', COMPLETED.replace('COMMITTED', 'CANCELLED')],
  ])('with %s is read all the same', (_, result) => {
    expectAlike(results(CREATED, result, CREATED));
  });

  it('counts the depth of what it does not recognise from outside', () => {
    const nested = (depth: number) =>
      results(`{"status":200,"body":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(readUsualReply(bytes(nested(997)))).not.toBe(null);
    expect(readUsualReply(bytes(nested(998)))).toBe(null);
    expect(() => readJson(nested(998))).toThrow(JsonError);
    expectAlike(nested(997));
  });

  it('leaves no more room behind than any other, however long it was', () => {
    const before = bytesInUse();
    readLong(20_000_000);
    expect(bytesInUse() - before).toBeLessThan(8_000_000);
  });

  it('tells nothing else than any reader would, whatever became of it on its way', () => {
    const result = fc.constantFrom(CREATED, LEASED, COMPLETED, REFUSED, CREATED.replaceAll('mail', 'a b'));
    const text = fc.oneof(
      fc.array(result, { minLength: 1, maxLength: 4 }).map((texts) => results(...texts)),
      fc.constant(LEASES),
    );
    const edit = fc.record({
      place: fc.nat(),
      take: fc.nat(3),
      put: fc.string({ unit: 'binary-ascii', maxLength: 3 }),
    });
    fc.assert(
      fc.property(text, fc.array(edit, { maxLength: 2 }), (whole, edits) => {
        let damaged = whole;
        for (const { place, take, put } of edits) {
          const from = place % (damaged.length + 1);
          damaged = damaged.slice(0, from) + put + damaged.slice(from + take);
        }
        try {
          expectAlike(damaged);
        } catch (fault) {
          // What others cannot read must not be read here.
          if (fault instanceof JsonError) throw new Error(`read although it is no JSON: ${damaged}`);
          throw fault;
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
