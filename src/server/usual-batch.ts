/**
 * Batches as our client writes them, with the operations that programs call most. Their fields are read where they are
 * expected and checked on the way, which takes half the time of reading any JSON and checking it afterwards. What looks
 * different in any way, be it a space, is left to those who know all of JSON and what to say when it is wrong.
 */
import { isUtf8 } from 'node:buffer';
import { alphabetOf, expected, FormReader, Forms } from '../protocol/form-reader.ts';
import { Json } from '../protocol/json.ts';
import { JsonError } from '../protocol/json-reader.ts';
import { LIMITS } from '../protocol/limits.ts';
import { isIdText } from '../protocol/texts.ts';

export interface Ops {
  readonly ops: readonly unknown[];
  /** Whether an operation is known to be as its schema wants it. */
  readonly checked: readonly boolean[];
}

const OPENING = expected('{"ops":[');
const CLOSING = expected(']}');
const COMMA = 0x2c;
const CREATE = expected('{"op":"task.create","task_id":"');
const PAYLOAD = expected(',"payload":');
const QUEUE = expected(',"queue":"');
const LEASE = expected('{"op":"task.lease","request_id":"');
const WORKER_ID = expected(',"worker_id":"');
const COMPLETE = expected('{"op":"task.complete","task_id":"');
const LEASE_ID = expected(',"lease_id":"');
const RESULT = expected(',"result":');
const END = expected('}');

/** Beyond ASCII an id has to be looked at as a whole. */
const IDS = alphabetOf((character) => character !== ' ' && isIdText(character));

// One batch at a time and never re-entered.
const NOTHING: Buffer = Buffer.alloc(0);
const form = new FormReader();
let body = NOTHING;

/** Null for a batch that is to be read in the usual way for JSON. */
export function readUsualBatch(bytes: Buffer | undefined): Ops | null {
  if (bytes === undefined || !isUtf8(bytes)) return null;
  body = bytes;
  form.open(bytes);
  try {
    return form.skip(OPENING) ? readOps() : null;
  } catch (fault) {
    if (fault instanceof JsonError) return null;
    throw fault;
  } finally {
    body = NOTHING;
    form.close();
  }
}

function readOps(): Ops | null {
  const ops: unknown[] = [];
  const checked: boolean[] = [];
  do {
    const op = form.oneOf(OPS);
    ops.push(op ?? form.any(2, keep));
    checked.push(op !== null);
    if (ops.length > LIMITS.batchOps) return null;
  } while (form.skipByte(COMMA));
  return form.skip(CLOSING) && form.isAtEnd ? { ops, checked } : null;
}

const OPS = new Forms(readCreate, readLease, readComplete);

function readCreate(): object | null {
  const task_id = form.skip(CREATE) ? readId() : null;
  if (task_id === null || !form.skip(PAYLOAD)) return null;
  const payload = form.opaque(keep);
  if (form.skip(END)) return { op: 'task.create', task_id, payload, queue: undefined };
  const queue = form.skip(QUEUE) ? readId() : null;
  return queue !== null && form.skip(END) ? { op: 'task.create', task_id, payload, queue } : null;
}

function readLease(): object | null {
  const request_id = form.skip(LEASE) ? readId() : null;
  const worker_id = request_id !== null && form.skip(WORKER_ID) ? readId() : null;
  return worker_id !== null && form.skip(END) ? { op: 'task.lease', request_id, worker_id } : null;
}

function readComplete(): object | null {
  const task_id = form.skip(COMPLETE) ? readId() : null;
  const lease_id = task_id !== null && form.skip(LEASE_ID) ? readId() : null;
  if (lease_id === null) return null;
  if (form.skip(END)) return { op: 'task.complete', task_id, lease_id, result: undefined };
  if (!form.skip(RESULT)) return null;
  const result = form.opaque(keep);
  return form.skip(END) ? { op: 'task.complete', task_id, lease_id, result } : null;
}

function readId(): string | null {
  const id = form.text(IDS);
  return id !== null && id !== '' && id.length <= LIMITS.nameBytes ? id : null;
}

/** A part of the body it came in. */
function keep(_: Uint8Array, from: number, to: number): Json {
  return Json.shallow(body.subarray(from, to));
}
