/**
 * Turns a request into its HTTP method, path and body. A `Json` inside is written as its own text, byte for byte.
 * Checks only what cannot be sent at all, and refuses it as the authority would.
 */

import type { Operation } from '../operations/table.ts';
import { Json, jsonText } from '../protocol/json.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Problem } from '../protocol/problem.ts';
import { OPERATION_ROWS, type OperationRow } from './operation-table.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface Routed {
  readonly method: OperationRow['method'];
  readonly path: string;
  readonly body: string | null;
}

/** The fields, each preceded by a comma, or why they cannot be written. */
function fieldsText(fields: Fields): string | Problem {
  let text = '';
  try {
    for (const field of Object.keys(fields)) {
      const value = valueText(field, fields[field]);
      if (value !== undefined) text += `,${JSON.stringify(field)}:${value}`;
    }
    return text;
  } catch {
    // A cycle, a BigInt, a depth beyond the call stack, or a throwing `toJSON` of the caller.
    return invalid('The request has no JSON form.');
  }
}

/** Undefined for a value without a JSON form. */
function valueText(field: string, value: unknown): string | undefined {
  if (value instanceof Json) return value.text();
  // The `value` of each write is opaque, one level deeper.
  return field === 'writes' && value !== undefined ? jsonText(value) : JSON.stringify(value);
}

const PIECES = new Map<string, readonly string[]>();

/** Splits a path with fields in braces: every second piece is a field name. */
function piecesOf(template: string): readonly string[] {
  const pieces = PIECES.get(template) ?? template.split(/\{(\w+)\}/);
  PIECES.set(template, pieces);
  return pieces;
}

/** The operation as a single HTTP request. */
export function routed(operation: Operation, request: Fields): Routed | Problem {
  const { method, path: template } = OPERATION_ROWS[operation];
  const pieces = piecesOf(template);
  const rest: Record<string, unknown> = { ...request };
  let path = pieces[0]!;
  for (let index = 1; index < pieces.length; index += 2) {
    const field = pieces[index]!;
    const value = rest[field];
    delete rest[field];
    const encoded = typeof value === 'string' && value !== '' ? percentEncoded(value) : null;
    if (encoded === null)
      return invalid(`The field ${field} must be valid, non-empty text: it is part of the path.`);
    path += encoded + pieces[index + 1]!;
  }
  if (method === 'GET') return { method, path: path + queryText(rest), body: null };
  const body = fieldsText(rest);
  return typeof body === 'string' ? { method, path, body: `{${body.slice(1)}}` } : body;
}

/** Null for a lone surrogate, which has no UTF-8 form. */
function percentEncoded(value: string): string | null {
  try {
    return encodeURIComponent(value);
  } catch (fault) {
    if (fault instanceof URIError) return null;
    throw fault;
  }
}

export function queryText(fields: Fields): string {
  const query = new URLSearchParams();
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) query.set(field, String(value));
  }
  // A plus means a space only in forms; %20 is unambiguous.
  return query.size === 0 ? '' : `?${query.toString().replaceAll('+', '%20')}`;
}

export function tooLarge(): Problem {
  const detail = `The body may have ${LIMITS.bodyBytes} bytes.`;
  return { ok: false, code: 'PAYLOAD_TOO_LARGE', status: 413, title: detail, detail };
}

export function invalid(detail: string): Problem {
  return {
    ok: false,
    code: 'INVALID_ARGUMENT',
    status: 400,
    title: 'The request is not well formed.',
    detail,
  };
}
