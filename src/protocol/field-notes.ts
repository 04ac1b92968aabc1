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
  max: 'How many at most; 1 by default. Once their payloads have 4 MiB together, no further one is given.',
  ttl_ms: 'How long the lease lasts from now on; 30 000 by default where it may be left out. Never shortens.',
  wait_ms: 'How long to wait when there is nothing to answer yet; 0 by default. May not stand in a batch.',
  request_id:
    'The same worker with the same id again gets the same live leases: a lost reply costs no attempt.',
  lease_id: 'The id of the lease on the task.',
  result: 'What came of it.',
  writes: 'Fenced writes in the same entry, all or nothing, judged only when the outcome would be COMMITTED.',
  reason: 'Why, for whoever looks later.',
  state: 'Only tasks in this state.',
  'session.list state': 'Only sessions in this state.',
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
  'task.lease guard':
    'The live grant of system:orchestrator:guard_lock, without which no start task is given out.',
  supersedes:
    'The lease_seq of the grant to take the place of, whose holder is known to be dead: that one is ended and the ' +
    'new one made, in one step, or nothing happens. Needs the scope v1:admin.',
  type: 'live: a service as it is sent. vod: a recording.',
  serviceRef: 'What to show; needed for live, and only there.',
  recordingID: 'What to show; needed for vod, and only there.',
  profileID: 'How to show it: the name of a profile of the orchestrator.',
  start_ms:
    'Where in the recording to begin; 0 by default. Only for vod; the same whole second is the same intent.',
  session_id: 'The id of the session, which is also that of its start task.',
  session_ids: 'The sessions whose leases to renew.',
  slots: 'Every slot there is, in the order in which they are tried.',
  patient:
    'True: while the service is held by a session that is STOPPING, LEASE_HELD is answered instead of a failure. ' +
    'False by default.',
  event: 'What has happened to the pipeline of the session.',
  detail: 'More about it: an exit code, a signal, a sentence.',
  'session.start lease_id': 'The id of the lease on the start task.',
  'session.start ttl_ms': 'How long the leases on the service and the slot last unless renewed.',
  'session.start token':
    'The secret of the new grant, made here by default. Choose one to be able to repeat a call whose reply was lost.',
  'guard name': 'The name of the guard.',
  object_id: 'The name of the object, which is the name of its lease too.',
  value: 'What to write.',
  lease: 'The lease under which to write: its lease_seq, and whatever else should be checked.',
  'lease lease_seq': 'The number of the lease.',
  'lease object_id': 'What the lease is for: refused if that is another object.',
  'lease holder_id': 'Who holds the lease: refused if that is another holder.',
  'lease acquired_at': 'Taken, so that the whole record of a lease can be sent, and ignored.',
  'lease expires_at': 'Taken, so that the whole record of a lease can be sent, and ignored.',
  if_version: 'Only if the object has this version; 0: only if there is none.',
  code: 'Only refusals with this code.',
  from: 'The first position to read; by default the first that is kept, and from now on when following.',
  'task.history from': 'The first position to look at; by default the first that is kept.',
  'lease.history from':
    'The first position to look at; by default the first that is kept. From a grant on, nothing is left out that came of it.',
  'log limit': 'How many at most; by default all there are, and without end where the log is followed.',
  'task.history limit': 'How many at most; 1 000 by default. A page ends early once it has 4 MiB.',
  'lease.history limit': 'How many at most; 1 000 by default. A page ends early once it has 4 MiB.',
  'session_events from': 'The first position to read; by default that of the intent.',
  types: 'Only entries of these types, separated by commas.',
  stale:
    'ok: a standby answers from what it has read along, and says in Leasehold-Stale how far that is. The leader ' +
    'answers as always.',
  follow: '1 keeps the reply open; entries come as they become durable.',
};
