/**
 * When each code is answered, and what to do about it. `docs/errors.md` (generated), the page `/errors/CODE` and
 * `leasehold explain CODE` show these texts. Field names are in backticks, everything else is plain text.
 */
import type { RefusalCode } from '../core/refusals.ts';

export interface Explanation {
  readonly when: string;
  readonly todo: string;
  /** A page below `docs/` with more about it. */
  readonly see?: { readonly title: string; readonly page: string };
}

export const EXPLANATIONS = {
  INVALID_ARGUMENT: {
    when:
      'A field is missing, unknown, of the wrong type or out of range; a body is not JSON in UTF-8, names a ' +
      'key twice or is nested more than 1 000 deep; a payload, result, value or metadata is not JSON or is ' +
      'itself nested more than 1 000 deep; a `task_id` has the form of generated ids and is ahead of the ' +
      'log; a cursor or an option of a call is unknown. `detail` names the first problem.',
    todo: 'Correct the call. Nothing was done.',
  },
  UNAUTHENTICATED: {
    when:
      'The server was started with tokens, and the request has no `Authorization: Bearer` header, or one ' +
      'with an unknown token.',
    todo:
      'Send one of the tokens of the server; the command line and the client take it from ' +
      '`LEASEHOLD_TOKEN`. Nothing was done.',
    see: { title: 'tokens and scopes', page: 'http.md#tokens-and-scopes' },
  },
  FORBIDDEN: {
    when:
      'The token lacks the scope that the operation needs. Or a task is created or leased in a queue that ' +
      'begins with `system:` without the scope `*`, or created in a queue that is reserved for intents. Or a task ' +
      'of such a queue is requeued, cancelled, checkpointed or changed, or a task is requeued or moved into one, or ' +
      'one gets limits or a schedule, which no scope allows. ' +
      'Without the scope `v1:admin`: `lease.acquire` with `supersedes`, acquiring a name under ' +
      '`system:orchestrator:`, or acquiring another live name that begins with `system:` under its holder ' +
      'but without its token. Or the address of the caller is outside the networks of `--allow-net`, or a ' +
      'trusted proxy forwards something that is not an address. Or the server runs without tokens, for its ' +
      'own machine only, and the `Host` or `Origin` of the request is a foreign one, as when a web page ' +
      'tries to reach it. `detail` says which.',
    todo:
      'Use a token with the scope, or start the server with tokens or with another `--allow-net`. Do not ' +
      'retry.',
    see: { title: 'tokens and scopes', page: 'http.md#tokens-and-scopes' },
  },
  GUARD_NOT_HELD: {
    when:
      '`lease.wipe`, `session.start`, `session.change`, `session.renew` or `task.lease` on the queue of ' +
      'start tasks without the live grant of `system:orchestrator:guard_lock`: the guard is missing or ' +
      'another one, its holder or token does not match, or its lease is over. Also `task.extend`, ' +
      '`task.complete`, `task.fail` or `task.release` on a start task, which ends with `session.start`. ' +
      'Nothing was changed.',
    todo: 'Stop. Another process may hold the guard now; acquire it again before anything else.',
  },
  TASK_NOT_FOUND: {
    when:
      'No task has this id, or it ended long ago and was forgotten. On `task.complete`, `task.fail` and ' +
      '`task.release` the problem says `outcome: "REJECTED"`.',
    todo: 'Check the id. A worker drops the work.',
  },
  LEASE_NOT_FOUND: {
    when:
      '`lease.get`, `lease.ask`, `lease.break` or `lease.acquire` with `supersedes` on a name that is not held; ' +
      '`lease.history` on a name that is not in the log.',
    todo: 'Nothing: the name is free.',
  },
  OBJECT_NOT_FOUND: {
    when:
      '`object.get` on an object that was never written or was deleted; `object.delete` under a valid lease ' +
      'when there is nothing to delete.',
    todo: 'Treat it as absent.',
  },
  SESSION_NOT_FOUND: {
    when: 'No session has this id, or it ended long ago and was forgotten. A malformed id is `INVALID_ARGUMENT`.',
    todo: 'Check the id; `session.list` shows the known ones.',
    see: { title: 'intents and sessions', page: 'http.md#intents-and-sessions' },
  },
  SCHEDULE_NOT_FOUND: {
    when: 'No schedule has this name, or it was removed.',
    todo: 'Check the name; `schedule.list` shows the known ones.',
    see: { title: 'schedules', page: 'http.md#schedules' },
  },
  ROUTE_NOT_FOUND: {
    when:
      'No operation and no page has this path. A name in a path is percent-encoded, so a slash in it is ' +
      'written `%2F`; a bare slash makes it another path. `/v1/backup` is also answered so when the log is ' +
      'in a database and not in files.',
    todo: 'Compare the address with `/openapi.json`, which lists every path of this server.',
  },
  METHOD_NOT_ALLOWED: {
    when: 'The path exists, but not for this method. The header `Allow` lists its methods.',
    todo: 'Use one of them; `/openapi.json` says what each does. Nothing was done.',
  },
  REQUEST_TIMEOUT: {
    when:
      'The headers or the body did not arrive in time. A request is judged only when it is complete, so ' +
      'nothing was done.',
    todo:
      'Retry. If it happens often, the connection is too slow for the size of the body, or something on the ' +
      'way delays it.',
  },
  TASK_ID_CONFLICT: {
    when:
      '`task.create` with the `task_id` of a task that has another payload. With the same payload the call ' +
      'is a repetition and returns the existing task. `task.requeue` with a `task_id_new` that another task has, ' +
      'or of a task that was requeued before under another id. Also `task.change` to a queue in which another task ' +
      'has the same `dedup_key`.',
    todo: 'Choose another id, or find the caller that uses the same one.',
  },
  TASK_NOT_ENDED: {
    when: '`task.requeue`, or a `task.bulk` that requeues or purges, on a task that is WAITING or LEASED.',
    todo: 'Wait until it has ended, as `task.get` with `wait_ms` does. It may still complete by itself.',
  },
  PAYLOAD_DAMAGED: {
    when: '`task.requeue` on a task, or `schedule.fire` on a schedule, whose payload does not fit its checksum any more. Nothing was created.',
    todo: 'Create the task again from its source. Check the disk, and the whole log with `leasehold wal verify`.',
  },
  TASK_TERMINAL: {
    when: '`task.kill` or `task.cancel` on a task that is COMPLETED, FAILED or DEAD. One that was cancelled can be cancelled again.',
    todo: 'Nothing: it has ended.',
  },
  TASK_NOT_WAITING: {
    when: '`task.change` on a task that is leased or has ended.',
    todo: 'Look at the task with `task.get`. Change it once it waits again.',
  },
  LEASE_UNKNOWN: {
    when:
      '`task.extend`, `task.checkpoint`, `task.complete`, `task.fail` or `task.release` with a `lease_id` that this task never ' +
      'had, or had so long ago that it is no longer remembered. Verdicts say `outcome: "REJECTED"`, and ' +
      'nothing is recorded.',
    todo: 'Check that task and lease belong together. A worker drops the work.',
  },
  LEASE_NOT_CURRENT: {
    when:
      'The lease on the task has ended, and not by expiry. Either its own holder ended it with another verb ' +
      '(then verdicts say `outcome: "REJECTED"`), or it is extended or checkpointed after its task was completed, failed, ' +
      'released, killed or restored. Also `lease.break` with a `lease_seq`, or `lease.acquire` with a ' +
      '`supersedes`, that is not the live grant; and `session.start` with a lease on the start task that ' +
      'was released.',
    todo: 'Drop the work: this lease no longer has the task.',
  },
  LEASE_HELD: {
    when:
      '`lease.acquire` or `lease.acquire_all` for a name that another caller holds, at once or when the ' +
      'wait has run out. `holder` and `remaining_ms` describe the lease in the way. `remaining_ms: 0` means ' +
      'that the name itself is free, and `holder` is in line before you. With several names `name` says which. `intent.accept` answers it only ' +
      'where intents acquire their service themselves (`LEASEHOLD_API_LEASES`), and a `session.start` with `patient` ' +
      'while the session before it is STOPPING: then `session_id` is the session in the way, and ' +
      '`Retry-After` says when to retry.',
    todo: 'Retry later, or wait in line with `wait_ms`.',
  },
  LEASE_NOT_HELD: {
    when:
      '`lease.renew` with a token or holder that is not that of the newest grant, or on a lease that was ' +
      'released, broken, wiped or restored. `lease.acquire` with the token of an earlier grant of this ' +
      'name.',
    todo: 'Stop what the lease protected. To continue, acquire again with a new token.',
  },
  LEASE_EXPIRED: {
    when:
      '`lease.renew` at or after the end of the lease, while the name has not been granted again; ' +
      '`task.extend` at or after the end of the lease, even if the task has not been leased again. For ' +
      'writes it is check 6 of the seven fence checks, with status 412: the number is the newest one, but ' +
      'the lease expired or was released, broken or wiped.',
    todo:
      'Stop what the lease protected. To continue, acquire or lease again. If it happens often, renew ' +
      'earlier or use a longer `ttl_ms`.',
  },
  SESSION_STATE_CONFLICT: {
    when:
      '`session.change` with an event that is not possible in the state of the session, or `session.start` ' +
      'on one that was already started with another token. `state` is its state.',
    todo: 'Read the session and continue from there.',
    see: { title: 'intents and sessions', page: 'http.md#intents-and-sessions' },
  },
  SESSION_TERMINAL: {
    when:
      'The session is STOPPED, FAILED or CANCELLED. `state`, `reason` and `reason_detail` say how it ended. ' +
      'Reading, heartbeat, stop and change of the session are all answered so until it is forgotten.',
    todo: 'Tell the viewer why it ended. The same intent again starts a new session.',
    see: { title: 'intents and sessions', page: 'http.md#intents-and-sessions' },
  },
  LOG_COMPACTED: {
    when:
      'The log is read or followed from a position before the first one that is kept, or a read asks with `at_seq` or ' +
      '`at` for a moment before it. `first_seq` is that position.',
    todo: 'Read from `first_seq` on, and get the state before it with the reads.',
  },
  LEASE_OBJECT_MISMATCH: {
    when:
      'Check 2 of the seven fence checks: the lease of the write names another `object_id`, or its ' +
      '`lease_seq` is the live lease of another name and not of this one.',
    todo: 'Correct the caller: it confuses two leases.',
  },
  WRITE_STALE_FENCE: {
    when:
      'Check 3 of the seven fence checks: `lease_seq` is below the fence, because the name was granted ' +
      'again since. A name that was never leased, or was forgotten, has no fence of its own; every number ' +
      'up to the end of the log is stale for it.',
    todo:
      'Stop: another holder is the writer now. Before you write under a newer lease, read what was written ' +
      'meanwhile.',
  },
  WRITE_UNKNOWN_FENCE: {
    when:
      'Check 4 of the seven fence checks: `lease_seq` is above the fence, so this authority never granted ' +
      'it for this object.',
    todo: 'Check where the number comes from: another data directory, another object, or a mistake.',
  },
  LEASE_HOLDER_MISMATCH: {
    when:
      'Check 5 of the seven fence checks: the number is the newest one, but `holder_id` is given and is not ' +
      'the holder.',
    todo: 'Correct the caller: it uses the number of another holder.',
  },
  VERSION_MISMATCH: {
    when:
      'Check 7 of the seven fence checks: the lease is valid, but `if_version` is given and the object has ' +
      'another version. 0 means "no object". `detail` says which version it has.',
    todo: 'Read the object, decide again, and write with its version.',
  },
  PAYLOAD_TOO_LARGE: {
    when:
      'The body of a request has more than 1 MiB; a payload, result, value or metadata has more than 256 ' +
      'KiB, or a checkpoint more than 64 KiB; or the result and the writes of one completion have more than 1 MiB ' +
      'together. `index` says which of several writes it was.',
    todo: 'Store large values elsewhere and put a reference here. Split a batch that is too large.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    when: 'The request has a body without `Content-Type: application/json`, or with a `Content-Encoding`.',
    todo:
      'Send JSON with that header. `curl -d` calls its body a form; `curl --json` sends the right header. ' +
      'Nothing was done.',
  },
  UPGRADE_REQUIRED: {
    when: '`/v1/live` got an ordinary request, or a proxy in between removed the `Upgrade` header.',
    todo:
      'Open a WebSocket with the subprotocol `leasehold.1`, or use the HTTP operations, which do the same. Let the ' +
      'proxy pass upgrades on. Nothing was done.',
    see: { title: 'the live connection', page: 'protocol.md' },
  },
  WRITE_UNFENCED: {
    when:
      'Check 1 of the seven fence checks: a write or a delete without a `lease`, or with one that has no ' +
      '`lease_seq`.',
    todo: "Acquire the lease of the object's name and send its `lease_seq`.",
  },
  HEADERS_TOO_LARGE: {
    when: 'The headers of the request, including its address, are larger than 16 KiB.',
    todo: 'Send fewer of them: long cookies and very long queries are the usual cause.',
  },
  INTERNAL: {
    when:
      'A bug in the server. Whether the call took effect is unknown. The log of the server has the details ' +
      'under the `requestId`.',
    todo:
      'Report it, with those lines. Check what the call did before you repeat it, or repeat it with the ' +
      'same `task_id`, `request_id` or `token`.',
  },
  OVERLOADED: {
    when:
      'More calls wait to be decided than the queue may hold: 100 000 ordinary ones, 400 000 that keep or ' +
      'end ownership, 256 MiB of opaque bytes in all. Or the call would have to wait in a line, and waiting ' +
      'calls already hold 256 MiB of names and metadata. Or it is a `task.lease` in a batch, or on a live connection, ' +
      'that has already been given 16 MiB of tasks. Or 4 096 operations of the live connection are in flight, or ' +
      '64 reads of earlier moments wait. Nothing was done.',
    todo:
      'Slow down and retry soon; over HTTP `Retry-After` says when. Calls that keep or end ownership are ' +
      'decided first, so leases are not lost.',
  },
  UNAVAILABLE: {
    when:
      'The log could not be written, or the authority is stopping. In process this is an exception, a ' +
      '`LeaseholdError` with this code and the fault as its `cause`. Whether the call took effect is ' +
      'unknown. A closed handle, of `open` or `connect`, throws it too: then nothing was done, and a retry ' +
      'cannot succeed.',
    todo:
      'Repeat the call with the same `task_id`, `request_id` or `token` once the server is back, or the ' +
      'directory has been opened again.',
    see: { title: 'operating', page: 'operating.md#when-the-log-cannot-be-written' },
  },
  NOT_LEADER: {
    when:
      'The log is in a database, and this server is a standby: it reads the log of the leader and takes ' +
      'over when the leader is gone. `leader_url` is the URL of the leader, if it is known; without it ' +
      'there is no leader at the moment, or this server waits for a guard from its own previous run. ' +
      'When the server cannot reach the database, `detail` says so. Nothing was done.',
    todo:
      'Ask the leader, or retry soon; over HTTP `Retry-After` says when. A client that has all the URLs ' +
      'does so by itself. Reads that may lag behind take `stale=ok`.',
    see: { title: 'high availability', page: 'guides/high-availability.md' },
  },
  DISK_FULL: {
    when:
      'The next segment of the log could not be allocated, and the call would create or set something: ' +
      '`task.create`, `task.requeue`, `task.bulk`, `task.lease`, `task.checkpoint`, `queue.limit`, `lease.acquire`, ' +
      '`lease.acquire_all`, `object.write`, `schedule.put`, `schedule.delete`, `schedule.pause`, `schedule.resume`, ' +
      '`schedule.fire`, `intent.accept`, `session.start`. Renewals, completions, failures, releases, ends of sessions and expiries continue ' +
      'while the reserve lasts; after that they are refused too.',
    todo: 'Free some disk space and retry.',
    see: { title: 'operating', page: 'operating.md#a-full-disk' },
  },
} as const satisfies Record<RefusalCode, Explanation>;
