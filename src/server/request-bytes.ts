/** From what arrived to the request it means: bytes, path and query, taken apart strictly; nothing is guessed. */
import { isUtf8 } from 'node:buffer';
import { invalid } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { Json } from '../protocol/json.ts';
import { JsonError, type Keep, readJson } from '../protocol/read-json.ts';

export type Fields = Record<string, unknown>;

/** A body that is no JSON object is refused in a sentence. */
export function readBody(bytes: Buffer | undefined): Fields | Refusal {
  return read(bytes, copied);
}

/** The same for calls that do not wait: each opaque value is a part of the body, and all of it lives as long as one of them. */
export function readBatch(bytes: Buffer | undefined): Fields | Refusal {
  return read(bytes, (_, from, to) => Json.shallow(bytes!.subarray(from, to)));
}

function read(bytes: Buffer | undefined, keep: Keep): Fields | Refusal {
  if (bytes === undefined || bytes.length === 0) return {};
  if (!isUtf8(bytes)) return invalid('The body is not valid UTF-8.');
  try {
    const body = readJson(bytes, keep);
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Fields;
    return invalid('The body is not a JSON object.');
  } catch (fault) {
    if (fault instanceof JsonError) return invalid(`The body is not JSON that we take. ${fault.message}`);
    throw fault;
  }
}

/** Short values come from a pool, and none of them keeps the body it came in alive. */
function copied(bytes: Uint8Array, from: number, to: number): Json {
  return Json.shallow(Buffer.from(bytes.subarray(from, to)));
}

/** Fields in the path stand nowhere else. */
export function withPathFields(body: Fields, params: Readonly<Record<string, string>>): Fields | Refusal {
  for (const field in params) {
    if (Object.hasOwn(body, field))
      return invalid(`The field ${field} is in the path and may not stand in the body.`);
    body[field] = copyOf(params[field]!);
  }
  return body;
}

/** A field of the path is a slice of it, and a slice that is remembered keeps the whole URL in memory. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** The part of a request's URL before its query. */
export function pathOf(url = '/'): string {
  return url.split('?', 1)[0]!;
}

/** Whether the query of a path is percent-encoded UTF-8; what is not would be taken for something else. */
export function isDecodable(url: string): boolean {
  const from = url.indexOf('?');
  if (from < 0) return true;
  try {
    decodeURIComponent(url.slice(from));
    return true;
  } catch (fault) {
    if (fault instanceof URIError) return false;
    throw fault;
  }
}

/** Whole numbers in a query become numbers where the schema wants them; anything else is left for the check to refuse. */
export function readQuery(query: Readonly<Record<string, unknown>>, numbers: ReadonlySet<string>): Fields {
  const fields: Fields = {};
  for (const [key, value] of Object.entries(query)) {
    const isNumber = numbers.has(key) && typeof value === 'string' && /^(0|[1-9]\d{0,15})$/.test(value);
    Object.defineProperty(fields, key, {
      value: isNumber ? Number(value) : value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return fields;
}
