// Bodies as text: the same as JSON.stringify makes, without `ok`, and with opaque values byte for byte.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Body, Operation } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { isNameText } from '../protocol/texts.ts';
import { bodyText } from './body-text.ts';

const name = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 12 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  )
  .filter(isNameText);
const nasty = fc.oneof(
  name,
  fc.constantFrom('"', '\\', '\\"', 'a"b\\c', '</script>', '日本', '😀', '{}', ' '),
);
const seq = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const instant = fc
  .date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString());
const state = fc.constantFrom('WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD');
const again = fc.constantFrom({}, { duplicate: true });

/** In the order in which the bodies are made. */
const created = fc
  .record({
    task_id: nasty,
    seq,
    state,
    attempt: seq,
    queue: nasty,
    priority: fc.integer({ min: -128, max: 127 }),
    created_at: instant,
    due_at: instant,
  })
  .chain((body) => again.map((more) => ({ ok: true, ...body, ...more })));
const verdict = fc
  .record({ outcome: fc.constantFrom('COMMITTED', 'CANCELLED'), task_id: nasty, state, seq })
  .chain((body) =>
    fc
      .tuple(fc.option(instant), fc.option(fc.constantFrom('expired', 'killed')), again)
      .map(([due_at, cause, more]) => ({
        ok: true,
        ...body,
        ...(due_at === null ? {} : { due_at }),
        ...(cause === null ? {} : { cause }),
        ...more,
      })),
  );
const acquired = fc
  .record({
    name: nasty,
    holder: nasty,
    token: nasty,
    lease_seq: seq,
    acquired_at: instant,
    expires_at: instant,
    remaining_ms: fc.integer(),
    object_id: nasty,
    holder_id: nasty,
    seq,
  })
  .chain((body) => again.map((more) => ({ ok: true, ...body, ...more })));
const released = fc.record({ released: fc.boolean(), seq }).map((body) => ({ ok: true, ...body }));
const taskLease = fc
  .tuple(nasty, seq, seq, fc.jsonValue(), nasty, instant, fc.integer())
  .map(([task_id, lease_seq, attempt, payload, queue, expires_at, remaining_ms]) => ({
    task_id,
    lease_id: `l${lease_seq}`,
    lease_seq,
    attempt,
    payload: Json.of(payload),
    queue,
    expiry_timestamp: expires_at,
    expires_at,
    remaining_ms,
  }));
const leases = fc
  .tuple(fc.array(taskLease, { maxLength: 4 }), seq, again)
  .map(([found, at, more]) => ({ ok: true, leases: found, seq: at, ...more }));

const WRITTEN: readonly (readonly [Operation, fc.Arbitrary<object>])[] = [
  ['task.create', created],
  ['task.lease', leases],
  ['task.complete', verdict],
  ['task.fail', verdict],
  ['task.release', verdict],
  ['lease.acquire', acquired],
  ['lease.renew', acquired],
  ['lease.release', released],
];

describe('the text of a reply', () => {
  it('holds opaque values as they came, also beside a string with the digits that stand for them meanwhile', () => {
    const digits = [Number.MAX_VALUE, Number.MAX_VALUE / 2].map(String);
    const body = {
      ok: true,
      task_id: digits.join(),
      payload: Json.text('{"b": 1.0, "a":  2}'),
      result: Json.text('3e0'),
    };
    expect(bodyText(body)).toBe(`{"task_id":"${digits.join()}","payload":{"b": 1.0, "a":  2},"result":3e0}`);
  });

  it.each(WRITTEN)('of %s is what JSON.stringify makes of it, without ok', (_, bodies) => {
    fc.assert(
      fc.property(bodies, (body) => {
        const { ok: _, ...rest } = body as { ok: true };
        expect(bodyText(body)).toBe(JSON.stringify(rest));
      }),
    );
  });

  it.each([
    '1.0',
    '12345678901234567890',
    '1e400',
    '{"b":1,"a":2,"1":3}',
    '{"__proto__":1}',
    '"\\u00e9\\/"',
    '"é日本😀"',
    ' [ 1 ,\n2 ] ',
    '{"a":1,"a":2}',
    '"{\\"ok\\":true,"',
  ])('holds an opaque value byte for byte: %s', (text) => {
    const opaque = new Json(text);
    const bytes = new Json(Buffer.from(text));
    const expires_at = '2026-01-01T00:00:00.000Z';
    const lease: Body<'task.lease'>['leases'][number] = {
      task_id: 't',
      lease_id: 'l00000000001',
      lease_seq: 1,
      attempt: 1,
      payload: opaque,
      queue: 'q',
      expiry_timestamp: expires_at,
      expires_at,
      remaining_ms: 1,
    };
    for (const kept of [opaque, bytes]) {
      expect(bodyText({ ok: true, leases: [{ ...lease, payload: kept }], seq: 1 })).toContain(
        `"payload":${text},`,
      );
      expect(bodyText({ ok: true, payload: kept, result: kept })).toBe(
        `{"payload":${text},"result":${text}}`,
      );
      expect(bodyText({ ok: true, tasks: [{ payload: kept }] })).toBe(`{"tasks":[{"payload":${text}}]}`);
      expect(bodyText({ ok: true, entries: [{ payload: kept }] })).toBe(`{"entries":[{"payload":${text}}]}`);
      expect(bodyText({ ok: true, metadata: kept })).toBe(`{"metadata":${text}}`);
      expect(bodyText({ ok: true, leases: [{ metadata: kept }] })).toBe(`{"leases":[{"metadata":${text}}]}`);
      expect(bodyText({ ok: true, entries: [{ metadata: kept }] })).toBe(
        `{"entries":[{"metadata":${text}}]}`,
      );
      expect(bodyText({ ok: true, value: kept })).toBe(`{"value":${text}}`);
    }
  });

  it('takes away no ok but its own', () => {
    expect(bodyText({ ok: true, value: new Json('{"ok":true,"a":1}') })).toBe('{"value":{"ok":true,"a":1}}');
  });
});
