// What every answer over HTTP must look like, whatever was asked: a reply as the table of operations describes it,
// without a field too many, or a problem with a code that the operation may answer.
import { expect } from 'vitest';
import { REFUSALS, type RefusalCode } from '../../src/core/refusals.ts';
import { refusalStatus, refusalsOf } from '../../src/operations/refusals-of.ts';
import { OPERATIONS, type Operation, operationOf } from '../../src/operations/table.ts';
import { complaints, type Schema } from './json-schema.ts';
import type { Answer, Body } from './served.ts';

const INSTANT = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$';

/** What is about intents and sessions has tests of its own. */
export type SessionOperation = Extract<Operation, 'intent.accept' | `session.${string}`>;

/** Every (operation, code) that was answered in this process. */
export const observed = new Set<string>();

/** Fails the test when the answer is not one the operation may give; gives its body. */
export function expectWithinContract(operation: Operation, answer: Answer, path: string): Body {
  if (answer.status >= 400) {
    const body = expectProblem(answer, path.split('?', 1)[0]!);
    const code = body.code as RefusalCode;
    observed.add(`${operation} ${code}`);
    expect(refusalsOf(operation), `${operation} may answer ${code}`).toContain(code);
    expect(answer.status).toBe(refusalStatus(operation, code));
    return body;
  }
  const body = JSON.parse(answer.text);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.headers['x-request-id']).toMatch(/^[\x21-\x7e]{1,128}$/);
  expect(answer.headers['leasehold-outcome']).toBe(body.outcome);
  expectReply(operation, answer.status, body);
  return body;
}

/** The same for an answer on a live connection, where opaque values are texts. */
export function expectWithinLive(operation: Operation, status: number, body: Body, id: number): Body {
  if (status < 400) {
    expectReply(operation, status, body);
    return body;
  }
  expectProblemBody(status, body, `/v1/live#${id}`);
  observed.add(`${operation} ${body.code}`);
  expect(refusalsOf(operation), `${operation} may answer ${body.code}`).toContain(body.code);
  expect(status).toBe(refusalStatus(operation, body.code));
  return body;
}

/** A body that is no problem, with the status that belongs to it. */
export function expectReply(operation: Operation, status: number, body: Body): void {
  const { status: usual } = operationOf(operation);
  const isOld = body.duplicate === true || body.created === false;
  expect(status).toBe(usual === 201 && isOld ? 200 : usual);
  const wrong = complaints(strict(OPERATIONS[operation].reply as Schema), body, () => ({}));
  expect(wrong, `the reply of ${operation} is ${JSON.stringify(body)}`).toEqual([]);
}

/** What every 4xx and 5xx is, of whatever layer. */
export function expectProblem({ status, headers, text }: Answer, instance?: string): Body {
  expect(headers['content-type'], text).toBe('application/problem+json');
  const body = JSON.parse(text);
  expectProblemBody(status, body, instance);
  expect(body.requestId).toBe(headers['x-request-id']);
  expect(headers['leasehold-outcome']).toBe(body.outcome);
  if (status === 503 || status === 429) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
  if (status === 401) expect(headers['www-authenticate']).toBe('Bearer');
  if (status === 405) expect(headers.allow).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
  return body;
}

export function expectProblemBody(status: number, body: Body, instance?: string): void {
  expect(Object.keys(REFUSALS)).toContain(body.code);
  const { says, status: usual } = REFUSALS[body.code as RefusalCode];
  expect(body).toMatchObject({ type: `/errors/${body.code}`, title: says, status });
  // A lease that is over makes a write fail as a precondition.
  if (body.code !== 'LEASE_EXPIRED') expect(status).toBe(usual);
  expect(body.detail).toMatch(/./);
  expect(body.instance).toMatch(/./);
  if (instance !== undefined) expect(body.instance).toBe(instance);
  expect(body.requestId).toMatch(/^[\x21-\x7e]{1,128}$/);
  expect(body.ok).toBeUndefined();
}

/** The same schema without room for fields it does not name, and with instants that are held to their form. */
function strict(schema: Schema): Schema {
  const result: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') {
      const entries = Object.entries(value as Record<string, Schema>);
      result.properties = Object.fromEntries(entries.map(([name, part]) => [name, strict(part)]));
      result.additionalProperties ??= false;
    } else if (keyword === 'additionalProperties') result.additionalProperties = value;
    else if (keyword === 'items') result.items = strict(value as Schema);
    else if (keyword === 'anyOf') result.anyOf = (value as Schema[]).map(strict);
    else result[keyword] = value;
  }
  if (schema.format === 'date-time') result.pattern = INSTANT;
  return result;
}
