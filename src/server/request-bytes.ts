/** Parses the bytes, path and query of a request, strictly. */
import { isUtf8 } from 'node:buffer';
import { invalid } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { Json } from '../protocol/json.ts';
import { JsonError, type Keep, readJson } from '../protocol/read-json.ts';

export type Fields = Record<string, unknown>;

export function readBody(bytes: Buffer | undefined): Fields | Refusal {
  return read(bytes, copied);
}

/** For calls that do not wait: opaque values are slices of the body, so each of them keeps the whole body alive. */
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

/** Copies, so that no value keeps the body alive. Short values come from a pool. */
function copied(bytes: Uint8Array, from: number, to: number): Json {
  return Json.shallow(Buffer.from(bytes.subarray(from, to)));
}

/** Adds the fields of the path; they may not stand in the body too. */
export function withPathFields(body: Fields, params: Readonly<Record<string, string>>): Fields | Refusal {
  for (const field in params) {
    if (Object.hasOwn(body, field))
      return invalid(`The field ${field} is in the path and may not stand in the body.`);
    body[field] = copyOf(params[field]!);
  }
  return body;
}

/** A field of the path is a slice of the URL; storing the slice would keep the whole URL in memory. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** The path of a URL, without its query. */
export function pathOf(url = '/'): string {
  return url.split('?', 1)[0]!;
}

/** Whether the query is percent-encoded UTF-8. Anything else would be misread. */
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

/** Turns whole numbers in a query into numbers where the schema has an integer. The check refuses anything else. */
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
