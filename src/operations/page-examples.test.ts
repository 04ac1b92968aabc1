// The examples of the operations, held against the schemas that requests and replies are checked by.
import { FormatRegistry, TypeRegistry } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { BATCH_CHECKS, CHECKS, LOG_CHECK } from './checks.ts';
import {
  BATCH_EXAMPLE,
  EVENTS_EXAMPLE,
  LOG_EXAMPLE,
  LOG_REQUEST_EXAMPLE,
  SESSION_EVENTS_EXAMPLE,
} from './page-examples.ts';
import { compileCheck, type RequestCheck } from './schema-check.ts';
import { OPERATIONS, type Operation } from './table.ts';

FormatRegistry.Set('date-time', (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text));
// Opaque fields are any JSON.
TypeRegistry.Set('Unsafe', () => true);

const operations = Object.keys(OPERATIONS) as Operation[];
const entryCheck = compileCheck(OPERATIONS['task.history'].reply.properties.entries.items);

function expectAccepted(check: RequestCheck, value: unknown): void {
  expect(check.accepts(value) ? 'accepted' : check.explain(value)).toBe('accepted');
}

describe('the examples', () => {
  it.each(operations)('show a request of %s that is accepted', (operation) => {
    expectAccepted(CHECKS[operation], OPERATIONS[operation].example.request);
  });

  it.each(operations)('show a reply of %s that fits its schema', (operation) => {
    expectAccepted(compileCheck(OPERATIONS[operation].reply), OPERATIONS[operation].example.reply);
  });

  it.each(operations)('show no field in the reply of %s that it does not have', (operation) => {
    const known = Object.keys(OPERATIONS[operation].reply.properties);
    expect(
      Object.keys(OPERATIONS[operation].example.reply).filter((field) => !known.includes(field)),
    ).toEqual([]);
  });

  it('show a batch whose operations are accepted and answered like each of them alone', () => {
    expect(BATCH_EXAMPLE.reply.results).toHaveLength(BATCH_EXAMPLE.request.ops.length);
    for (const [index, op] of BATCH_EXAMPLE.request.ops.entries()) {
      expectAccepted(BATCH_CHECKS[op.op], op);
      expect(op).not.toHaveProperty('wait_ms');
      const { status, body } = BATCH_EXAMPLE.reply.results[index]!;
      expect(status).toBe(OPERATIONS[op.op].status);
      expectAccepted(compileCheck(OPERATIONS[op.op].reply), body);
    }
  });

  it('show lines of the log that are entries, and a request for them', () => {
    expectAccepted(LOG_CHECK, LOG_REQUEST_EXAMPLE);
    const lines = LOG_EXAMPLE.split('\n');
    expect(lines.pop()).toBe('');
    const entries = lines.map((line) => JSON.parse(line) as { seq: number });
    expect(entries.map(({ seq }) => seq)).toEqual([42, 43]);
    for (const entry of entries) expectAccepted(entryCheck, entry);
  });

  it.each([EVENTS_EXAMPLE, SESSION_EVENTS_EXAMPLE])(
    'show events whose id and name are those of their entry',
    (text) => {
      const events = text.split('\n\n');
      expect(events.pop()).toBe('');
      expect(events).toHaveLength(2);
      for (const event of events) {
        const [id, name, data] = event.split('\n').map((line) => line.slice(line.indexOf(': ') + 2));
        const entry = JSON.parse(data!) as { seq: number; type: string };
        expectAccepted(entryCheck, entry);
        expect([id, name]).toEqual([String(entry.seq), entry.type]);
      }
    },
  );
});
