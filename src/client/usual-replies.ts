/**
 * The replies that come most, in the form in which the server writes them (`server/reply-bytes.ts`): tasks created, leased
 * and completed, in a batch or, for who waits for tasks, alone. To read them takes half the time of reading any JSON. What
 * looks different in any way is left to the reader for all JSON. Only for clients on Node: in a browser size counts for more.
 *
 * Bodies have their `ok` already, which callers see and the wire does not carry: an object that is given one more field
 * later needs more memory for it, and more time.
 */
import { alphabetOf, expected, FormReader, Forms, type Newest } from '../protocol/form-reader.ts';
import { JsonError } from '../protocol/json-reader.ts';

const RESULTS = expected('{"results":[');
const RESULTS_END = expected(']}');
const CREATED = expected('{"status":201,"body":{"task_id":"');
const LEASED = expected('{"status":200,"body":');
const COMPLETED = expected('{"status":200,"body":{"outcome":"COMMITTED","task_id":"');
const LEASES = expected('{"leases":[');
const LEASES_END = expected('],"seq":');
const TASK_ID = expected('{"task_id":"');
const LEASE_ID = expected(',"lease_id":"');
const LEASE_SEQ = expected(',"lease_seq":');
const ATTEMPT = expected(',"attempt":');
const PAYLOAD = expected(',"payload":');
const QUEUE = expected(',"queue":"');
const EXPIRY = expected(',"expiry_timestamp":"');
const EXPIRES_AT = expected(',"expires_at":"');
const REMAINING_MS = expected(',"remaining_ms":');
const SEQ = expected(',"seq":');
const WAITING = expected(',"state":"WAITING","attempt":0,"queue":"');
const PRIORITY = expected(',"priority":');
const CREATED_AT = expected(',"created_at":"');
const DUE_AT = expected(',"due_at":"');
const DONE = expected(',"state":"COMPLETED","seq":');
const END = expected('}');
const END_OF_RESULT = expected('}}');
const COMMA = 0x2c;

const PLAIN = alphabetOf(() => true);

// One reply at a time and never re-entered.
const form = new FormReader();
const queues: Newest = { text: '', from: 0 };
/** Of one batch most tasks have the same. */
const instants: Newest = { text: '', from: 0 };

/** Null for a reply that is to be read in the usual way for JSON. */
export function readUsualReply(body: Uint8Array): object | null {
  form.open(body);
  queues.text = '';
  instants.text = '';
  try {
    const reply = form.skip(RESULTS) ? readResults() : readLeases();
    return reply !== null && form.isAtEnd ? reply : null;
  } catch (fault) {
    if (fault instanceof JsonError) return null;
    throw fault;
  } finally {
    form.close();
  }
}

function readResults(): object | null {
  const results: unknown[] = [];
  do results.push(form.oneOf(FORMS) ?? form.any(2, null));
  while (form.skipByte(COMMA));
  return form.skip(RESULTS_END) ? { results } : null;
}

const FORMS = new Forms(readCreated, readLeased, readCompleted);

function readCreated(): object | null {
  const task_id = form.skip(CREATED) ? form.text(PLAIN) : null;
  const seq = task_id !== null && form.skip(SEQ) ? form.number() : null;
  const queue = seq !== null && form.skip(WAITING) ? form.textAgain(PLAIN, queues) : null;
  const priority = queue !== null && form.skip(PRIORITY) ? form.number() : null;
  const created_at = priority !== null && form.skip(CREATED_AT) ? form.textAgain(PLAIN, instants) : null;
  const due_at = created_at !== null && form.skip(DUE_AT) ? form.textAgain(PLAIN, instants) : null;
  if (due_at === null || !form.skip(END_OF_RESULT)) return null;
  const body = { task_id, seq, state: 'WAITING', attempt: 0, queue, priority, created_at, due_at, ok: true };
  return { status: 201, body };
}

function readLeased(): object | null {
  const body = form.skip(LEASED) ? readLeases() : null;
  return body !== null && form.skip(END) ? { status: 200, body } : null;
}

function readLeases(): object | null {
  const first = form.skip(LEASES) ? readLease() : null;
  if (first === null) return null;
  const leases = [first];
  while (form.skipByte(COMMA)) {
    const lease = readLease();
    if (lease === null) return null;
    leases.push(lease);
  }
  const seq = form.skip(LEASES_END) ? form.number() : null;
  return seq !== null && form.skip(END) ? { leases, seq, ok: true } : null;
}

function readLease(): object | null {
  const task_id = form.skip(TASK_ID) ? form.text(PLAIN) : null;
  const lease_id = task_id !== null && form.skip(LEASE_ID) ? form.text(PLAIN) : null;
  const lease_seq = lease_id !== null && form.skip(LEASE_SEQ) ? form.number() : null;
  const attempt = lease_seq !== null && form.skip(ATTEMPT) ? form.number() : null;
  if (attempt === null || !form.skip(PAYLOAD)) return null;
  const payload = form.opaque(null);
  const queue = form.skip(QUEUE) ? form.textAgain(PLAIN, queues) : null;
  const expiry_timestamp = queue !== null && form.skip(EXPIRY) ? form.textAgain(PLAIN, instants) : null;
  const expires_at =
    expiry_timestamp !== null && form.skip(EXPIRES_AT) ? form.textAgain(PLAIN, instants) : null;
  const remaining_ms = expires_at !== null && form.skip(REMAINING_MS) ? form.number() : null;
  if (remaining_ms === null || !form.skip(END)) return null;
  return {
    task_id,
    lease_id,
    lease_seq,
    attempt,
    payload,
    queue,
    expiry_timestamp,
    expires_at,
    remaining_ms,
  };
}

function readCompleted(): object | null {
  const task_id = form.skip(COMPLETED) ? form.text(PLAIN) : null;
  const seq = task_id !== null && form.skip(DONE) ? form.number() : null;
  if (seq === null || !form.skip(END_OF_RESULT)) return null;
  return { status: 200, body: { outcome: 'COMMITTED', task_id, state: 'COMPLETED', seq, ok: true } };
}
