/**
 * Bodies as text. The built-in JSON.stringify is the fastest way for everything but opaque values, which are
 * put in as the text they came in as. `ok` is for callers in process and does not travel.
 */
import { type Json, jsonText } from '../protocol/json.ts';
import type { Body, TaskLeaseRecord } from '../protocol/replies.ts';
import type { Operation } from '../protocol/routes.ts';

const OK = '{"ok":true,';

type Writer<Op extends Operation> = (body: Body<Op>) => string;

/** On the hot path, where a template is three times as fast as the built-in way. */
const TEMPLATES: { readonly [Op in Operation]?: Writer<Op> } = {
  'task.create': createdText,
  'task.lease': taskLeasesText,
  'task.complete': verdictText,
  'lease.acquire': acquiredText,
  'lease.renew': acquiredText,
  'lease.release': ({ released, seq }) => `{"released":${released},"seq":${seq}}`,
};

/** Their replies can hold opaque values. */
const OPAQUE: ReadonlySet<Operation> = new Set([
  'task.get',
  'task.list',
  'task.history',
  'lease.get',
  'lease.list',
  'lease.history',
  'object.get',
]);

/** Looked up once for a route, and not with every reply. */
export function bodyWriter(operation: Operation): (body: object) => string {
  const template = TEMPLATES[operation] as ((body: object) => string) | undefined;
  if (template !== undefined) return template;
  return OPAQUE.has(operation) ? (body) => withoutOk(jsonText(body)) : plainText;
}

function plainText(body: object): string {
  return withoutOk(JSON.stringify(body));
}

function withoutOk(text: string): string {
  return text.startsWith(OK) ? `{${text.slice(OK.length)}` : text;
}

const AGAIN = ',"duplicate":true';

function createdText(body: Body<'task.create'>): string {
  const { task_id, seq, state, attempt, queue, priority, created_at, due_at, duplicate } = body;
  return `{"task_id":${quoted(task_id)},"seq":${seq},"state":"${state}","attempt":${attempt},"queue":${quoted(queue)},"priority":${priority},"created_at":"${created_at}","due_at":"${due_at}"${duplicate ? AGAIN : ''}}`;
}

function taskLeasesText({ leases, seq, duplicate }: Body<'task.lease'>): string {
  return `{"leases":[${leases.map(taskLeaseText).join(',')}],"seq":${seq}${duplicate ? AGAIN : ''}}`;
}

function taskLeaseText(lease: TaskLeaseRecord): string {
  const { task_id, lease_id, lease_seq, attempt, payload, queue, expires_at, remaining_ms } = lease;
  return `{"task_id":${quoted(task_id)},"lease_id":"${lease_id}","lease_seq":${lease_seq},"attempt":${attempt},"payload":${opaqueText(payload)},"queue":${quoted(queue)},"expiry_timestamp":"${expires_at}","expires_at":"${expires_at}","remaining_ms":${remaining_ms}}`;
}

function verdictText(body: Body<'task.complete'>): string {
  if (body.due_at !== undefined || body.cause !== undefined) return plainText(body);
  const { outcome, task_id, state, seq, duplicate } = body;
  return `{"outcome":"${outcome}","task_id":${quoted(task_id)},"state":"${state}","seq":${seq}${duplicate ? AGAIN : ''}}`;
}

function acquiredText(body: Body<'lease.acquire'>): string {
  const { name, holder, token, lease_seq, acquired_at, expires_at, remaining_ms, seq, duplicate } = body;
  return `{"name":${quoted(name)},"holder":${quoted(holder)},"token":${quoted(token)},"lease_seq":${lease_seq},"acquired_at":"${acquired_at}","expires_at":"${expires_at}","remaining_ms":${remaining_ms},"seq":${seq}${duplicate ? AGAIN : ''}}`;
}

/** The log gives bytes; a Buffer makes text of them in a third of the time a decoder takes. */
function opaqueText(json: Json): string {
  if (json.isText) return json.text();
  const { bytes } = json;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/** Names and ids are printable, so that only these two characters need an escape. */
function quoted(text: string): string {
  return text.includes('"') || text.includes('\\') ? JSON.stringify(text) : `"${text}"`;
}
