/**
 * The live connection: one WebSocket that carries operations both ways in frames of JSON text. `docs/protocol.md` describes it
 * byte for byte. A frame is an array of items, so that everything that is ready is sent together.
 *
 *   client → server   [ item, … ]               [id, operation, request, requestId?]  ["end", id]  ["ping", n]  ["token", token]
 *   server → client   [ time, epoch, item, … ]  [id, status, body, staleSeq?]  [id]  ["pong", n]  ["lost"|"cancel"|"asked", told]
 *
 * Opaque values (payloads, results, values, metadata, checkpoints) are strings that hold their JSON text: the built-in parser
 * then reads a frame in one go, and the text arrives byte for byte.
 */
import { Json } from './json.ts';
import { LIMITS } from './limits.ts';
import { isOpaqueField } from './read-json.ts';

export const LIVE_PATH = '/v1/live';
export const LIVE_PROTOCOL = 'leasehold.1';

export const LIVE_LIMITS = {
  /** Operations that are not answered yet. */
  inFlight: 4_096,
  /** A body within the HTTP limit at most doubles in length when its opaque values are sent as strings. */
  frameBytes: 2 * LIMITS.bodyBytes,
  /** How many bytes a client may send before it has presented its token, and how long it may take. */
  firstBytes: 4_096,
  firstMs: 5_000,
} as const;

/** Why a connection was closed; codes below 4000 are those of RFC 6455. */
export const CLOSES = { goingAway: 1001, malformed: 4400, unauthenticated: 4401 } as const;

type Fields = Readonly<Record<string, unknown>>;

/** A lease ended, and its holder did not end it. */
export interface ToldLost {
  readonly lease_seq: number;
  /** For a named lease. */
  readonly name?: string;
  /** For the lease on a task. */
  readonly task_id?: string;
  readonly lease_id?: string;
  readonly cause: string;
}

/** Cancellation of a task was requested; its lease stays. */
export interface ToldCancel {
  readonly task_id: string;
  readonly lease_id: string;
  readonly lease_seq: number;
  readonly reason: string;
}

/** The holder of a named lease is asked to give way. */
export interface ToldAsked {
  readonly name: string;
  readonly lease_seq: number;
  readonly reason: string;
}

/** The messages that a server sends unasked. */
export type Told =
  | readonly ['lost', ToldLost]
  | readonly ['cancel', ToldCancel]
  | readonly ['asked', ToldAsked];

/** A request as JSON text; undefined if it has no JSON form. */
export function requestText(fields: Fields): string | undefined {
  try {
    for (const field in fields) {
      if (isOpaqueField(field) || field === 'writes') return JSON.stringify(withTexts(fields));
    }
    return JSON.stringify(fields);
  } catch {
    // A cycle, a BigInt, a depth beyond the call stack, or a throwing `toJSON` of the caller.
    return undefined;
  }
}

function withTexts(fields: Fields): Fields {
  const shown: Record<string, unknown> = {};
  for (const field of Object.keys(fields)) {
    const value = fields[field];
    shown[field] = isOpaqueField(field) ? opaqueText(value) : field === 'writes' ? writesOf(value) : value;
  }
  return shown;
}

/** The values of fenced writes are opaque as well. */
function writesOf(writes: unknown): unknown {
  if (!Array.isArray(writes)) return writes;
  return writes.map((write: Fields) =>
    write?.value === undefined ? write : { ...write, value: opaqueText(write.value) },
  );
}

function opaqueText(value: unknown): string | undefined {
  return value instanceof Json ? value.text() : JSON.stringify(value);
}

/** Turns the opaque values of a received body into `Json`; in place, because the body has no other owner. */
export function restoreOpaque(value: unknown): void {
  if (Array.isArray(value)) for (const item of value) restoreOpaque(item);
  else if (typeof value === 'object' && value !== null) {
    const fields = value as Record<string, unknown>;
    for (const key in fields) {
      const field = fields[key];
      if (isOpaqueField(key) && typeof field === 'string') fields[key] = Json.shallow(field);
      else if (typeof field === 'object') restoreOpaque(field);
    }
  }
}
