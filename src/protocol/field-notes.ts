/**
 * What the fields of requests mean, one line each, for the OpenAPI text. A field means the same wherever it
 * stands; where it does not, the operation or the field it belongs to stands before it.
 */
export const FIELD_NOTES: Readonly<Record<string, string>> = {
  payload: 'What the task is about.',
  task_id: 'The id of the task.',
  'task.create task_id':
    'The id of the new task; made from its seq by default. Makes the call safe to repeat: the same id with the ' +
    'same payload gives the task that is there.',
  queue: 'The name of a queue; "default" when a task is created without one.',
  'task.list queue': 'Only tasks of this queue.',
  priority: 'Higher first; 0 by default.',
  delay_ms: 'The task is not given out before this time has passed.',
  'task.fail delay_ms': 'Wait this long instead of the backoff of the task.',
  retry: 'How failures are dealt with; by default 5 failures, the first pause 1 s, no pause above 300 s.',
  'task.fail retry': 'False: the task has failed for good, whatever its failures so far.',
  max_failures: 'The failure with this number is final.',
  backoff_ms: 'The pause after the first failure; it doubles with each further one.',
  max_backoff_ms: 'No pause is longer.',
  max_attempts: 'How many leases the task may have before it is DEAD; 100 by default.',
  dedup_key: 'While a task of this queue with this key has not ended, that task is the answer.',
  worker_id: 'Who works.',
  queues: 'Where to look; ["default"] by default.',
  max: 'How many at most; 1 by default.',
  ttl_ms: 'How long the lease lasts from now on; 30 000 by default where it may be left out. Never shortens.',
  wait_ms: 'How long to wait when there is nothing to answer yet; 0 by default. May not stand in a batch.',
  request_id:
    'The same worker with the same id again gets the same live leases: a lost reply costs no attempt.',
  lease_id: 'The id of the lease on the task.',
  result: 'What came of it.',
  writes: 'Fenced writes in the same entry, all or nothing, judged only when the outcome would be COMMITTED.',
  reason: 'Why, for whoever looks later.',
  state: 'Only tasks in this state.',
  limit: 'How many at most; 100 by default.',
  cursor: 'The next_cursor of the page before.',
  leases: 'The leases to extend.',
  name: 'What is leased.',
  names: 'What is leased: all of them or none.',
  holder: 'Who holds the lease; unique for every running instance.',
  token: 'The secret of this grant.',
  'lease.acquire token':
    'The secret of the new grant, made here by default. Choose one to be able to repeat a call whose reply was lost.',
  'lease.acquire_all token':
    'The secret of the new grants, made here by default. Choose one to be able to repeat a call whose reply was lost.',
  metadata: 'Shown to whoever reads the lease.',
  lease_seq: 'End only this very grant.',
  prefix: 'Only names that begin with it; empty: all names.',
  guard: 'The live grant of system:orchestrator:guard_lock.',
  'guard name': 'The name of the guard.',
  object_id: 'The name of the object, which is the name of its lease too.',
  value: 'What to write.',
  lease: 'The lease under which to write: its lease_seq, and whatever else should be checked.',
  'lease lease_seq': 'The number of the lease.',
  'lease object_id': 'What the lease is for: refused if that is another object.',
  'lease holder_id': 'Who holds the lease: refused if that is another holder.',
  if_version: 'Only if the object has this version; 0: only if there is none.',
  code: 'Only refusals with this code.',
  from: 'The first position to read; by default the first that is kept, and from now on when following.',
  stale:
    'ok: a standby answers from what it has read along, and says in Leasehold-Stale how far that is. The leader ' +
    'answers as always.',
  follow: '1 keeps the reply open; entries come as they become durable.',
};
