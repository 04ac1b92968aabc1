/**
 * Of every code: when it comes, and what to do about it. `docs/errors.md`, the page `/errors/CODE` and
 * `leasehold explain CODE` all show these texts; a test holds the document to them. Names of fields stand
 * in backticks, everything else is plain text.
 */
import type { RefusalCode } from '../core/refusals.ts';

export interface Explanation {
  readonly when: string;
  readonly todo: string;
  /** Where the documents say more, from `docs/`. */
  readonly see?: { readonly title: string; readonly page: string };
}

export const EXPLANATIONS = {
  INVALID_ARGUMENT: {
    when:
      'A field is missing, unknown, of the wrong type or out of its range; a body is not JSON in UTF-8, names a key ' +
      'twice or is nested more than 1 000 deep; a payload, result, value or metadata has no JSON form or is itself ' +
      'nested more than 1 000 deep; a `task_id` has the form of ids that we make and lies ahead of the log; a cursor ' +
      'is none of ours; an option of a call is unknown. `detail` names the first thing that is wrong.',
    todo: 'Correct the call. Nothing was done.',
  },
  UNAUTHENTICATED: {
    when:
      'The server was started with tokens, and the request has no `Authorization: Bearer` header, or one with a ' +
      'token that the server does not know.',
    todo:
      'Send one of the tokens of the server; the command line and the client take it from `LEASEHOLD_TOKEN`. ' +
      'Nothing was done.',
    see: { title: 'tokens and scopes', page: 'http.md#tokens-and-scopes' },
  },
  FORBIDDEN: {
    when:
      'The token is known but lacks the scope that the operation needs. A task is created or leased in a queue that ' +
      'begins with `system:` without the scope `*`, or created where only intents put tasks. Without the scope ' +
      '`v1:admin`: `lease.acquire` with `supersedes`, acquiring a name under `system:orchestrator:`, or acquiring ' +
      'another live name that begins with `system:` under its holder but without its token. The address of the caller ' +
      'lies outside the networks of `--allow-net`, or a trusted proxy forwards something that is not an address. Or ' +
      'the server runs without tokens, for its own machine only, and the `Host` or `Origin` of the request is a ' +
      'foreign one, as when a page in a browser tries to reach it. `detail` says which.',
    todo:
      'Use a token with the scope, or start the server with tokens or with another `--allow-net`. Repeating the ' +
      'call changes nothing.',
    see: { title: 'tokens and scopes', page: 'http.md#tokens-and-scopes' },
  },
  GUARD_NOT_HELD: {
    when:
      '`lease.wipe`, `session.start`, `session.change`, `session.renew` or `task.lease` on the queue of start tasks ' +
      'names a guard other than `system:orchestrator:guard_lock`, or none, or not its live grant: the holder or the ' +
      'token is another one, or the lease is over. Or `task.extend`, `task.complete`, `task.fail` or `task.release` is ' +
      'about a start task, which ends with `session.start`. Nothing was touched.',
    todo:
      'Stop. Another process is the only one of its kind now, or nobody is; acquire the guard again before anything ' +
      'else.',
  },
  TASK_NOT_FOUND: {
    when:
      'No task has this id, or it ended long ago and was forgotten. On `task.complete`, `task.fail` and ' +
      '`task.release` the problem says `outcome: "REJECTED"`.',
    todo: 'Check the id. A worker drops the work.',
  },
  LEASE_NOT_FOUND: {
    when:
      '`lease.get` or `lease.break` on a name that nobody holds; `lease.history` on a name of which the log knows ' +
      'nothing.',
    todo: 'Nothing: the name is free.',
  },
  OBJECT_NOT_FOUND: {
    when:
      '`object.get` on an object that was never written or was deleted; `object.delete` when its lease is in order ' +
      'and there is nothing to delete.',
    todo: 'Treat it as absent.',
  },
  SESSION_NOT_FOUND: {
    when:
      'No session has this id, or it ended long ago and was forgotten. An id that could not be one of a session is ' +
      '`INVALID_ARGUMENT`.',
    todo: 'Check the id; `session.list` shows those that are known.',
    see: { title: 'intents and sessions', page: 'http.md#intents-and-sessions' },
  },
  ROUTE_NOT_FOUND: {
    when:
      'No operation and no page has this path. A name in a path is percent-encoded, so a slash in it is written ' +
      '`%2F`; a bare slash makes it another path. `/v1/backup` is answered so where the log is not in files, because ' +
      'it is in a database.',
    todo: 'Compare the address with `/openapi.json`, which lists every path of this server.',
  },
  METHOD_NOT_ALLOWED: {
    when: 'There is something at this path, but not for this method. The header `Allow` names those it takes.',
    todo: 'Use one of them; `/openapi.json` says what each does. Nothing was done.',
  },
  REQUEST_TIMEOUT: {
    when:
      'The headers or the body did not arrive in the time the server gives them. A request is judged only when all ' +
      'of it is there, so nothing was done.',
    todo:
      'Try again. If it happens often, the connection is too slow for the size of the body, or something on the way ' +
      'holds it back.',
  },
  TASK_ID_CONFLICT: {
    when:
      '`task.create` with a `task_id` that a task with another payload has. With the same payload it is a ' +
      'repetition and is answered with the task that is there.',
    todo: 'Choose another id, or find out who uses the same one for something else.',
  },
  TASK_TERMINAL: {
    when: '`task.kill` on a task that is COMPLETED, FAILED or DEAD.',
    todo: 'Nothing: it has ended.',
  },
  LEASE_UNKNOWN: {
    when:
      '`task.extend`, `task.complete`, `task.fail` or `task.release` with a `lease_id` that this task never had, or ' +
      'had so long ago that it is not among those it remembers. The verdicts say `outcome: "REJECTED"`, and nothing ' +
      'is recorded.',
    todo: 'Check that task and lease belong together. A worker drops the work.',
  },
  LEASE_NOT_CURRENT: {
    when:
      'The lease on the task has ended in another way than by time: its own holder ended it with another verb (then ' +
      'the verdicts say `outcome: "REJECTED"`), or it is to be extended after its task was completed, failed, ' +
      'released, killed or restored. Also `lease.break` with a `lease_seq`, or `lease.acquire` with a `supersedes`, that ' +
      'is not the live grant; and `session.start` with a lease on the start task that was handed back.',
    todo: 'Drop the work: the task has gone on without this lease.',
  },
  LEASE_HELD: {
    when:
      '`lease.acquire` or `lease.acquire_all` finds a name that somebody else holds, at once or until its wait has ' +
      'run out. `holder` and `remaining_ms` tell about the lease in the way. `remaining_ms: 0` means that the name ' +
      'itself is free, and `holder` stands in line before you. `intent.accept` answers it only where intents take ' +
      'their service themselves (`XG2G_V3_API_LEASES`), and a patient `session.start` while the session before it ' +
      'is STOPPING: then `session_id` is the session in the way, and `Retry-After` says when to come back.',
    todo: 'Try later, or wait in line with `wait_ms`.',
  },
  LEASE_NOT_HELD: {
    when:
      '`lease.renew` with a token or holder that is not the newest grant, or on a lease that was released, broken, ' +
      'wiped or restored. `lease.acquire` with a token that an earlier grant of this name had.',
    todo: 'Stop what the lease protected. To go on, acquire anew with a new token.',
  },
  LEASE_EXPIRED: {
    when:
      '`lease.renew` at or after the end of the lease, while nobody has been granted the name since; `task.extend` at ' +
      'or after the end of the lease, whether or not anybody else has the task. For writes it is check 6 of the seven fence checks: the number is the newest one, but the lease is ' +
      'over, be it by time, release, break or wipe. There its status is 412.',
    todo:
      'Stop what the lease protected. To go on, acquire or lease anew. If it happens often, renew earlier or ask for ' +
      'a longer `ttl_ms`.',
  },
  SESSION_STATE_CONFLICT: {
    when:
      '`session.change` with an event that cannot happen in the state of the session, or `session.start` on one that ' +
      'was started already, by another token. `state` says where it stands.',
    todo: 'Read the session and go on from there.',
    see: { title: 'intents and sessions', page: 'http.md#intents-and-sessions' },
  },
  SESSION_TERMINAL: {
    when:
      'The session is STOPPED, FAILED or CANCELLED. `state`, `reason` and `reason_detail` say how it ended. Reading ' +
      'it, its heartbeat, stopping and changing it are all answered so until it is forgotten.',
    todo: 'Tell whoever watches it why it ended. The same intent again starts a new session.',
    see: { title: 'intents and sessions', page: 'http.md#intents-and-sessions' },
  },
  LOG_COMPACTED: {
    when:
      'The log is asked, or followed, from a position before the first one that is kept. `first_seq` says which ' +
      'one that is.',
    todo: 'Read from `first_seq` on, and take the state before it from the reads.',
  },
  LEASE_OBJECT_MISMATCH: {
    when:
      'Check 2 of the seven fence checks: the lease that the write shows names another `object_id`, or its ' +
      '`lease_seq` is the live lease of another name and not of this one.',
    todo: 'Correct the caller: it mixes up two leases.',
  },
  WRITE_STALE_FENCE: {
    when:
      'Check 3 of the seven fence checks: `lease_seq` is below the fence, because the name was granted again since. ' +
      'A name that was never leased, or was forgotten, has no fence of its own; every number up to the end of the ' +
      'log is stale for it.',
    todo:
      'Stop: somebody else is the writer now. Never repeat the write under a newer lease without looking at what ' +
      'was written meanwhile.',
  },
  WRITE_UNKNOWN_FENCE: {
    when:
      'Check 4 of the seven fence checks: `lease_seq` is above the fence, so this authority never granted it for ' +
      'this object.',
    todo: 'Check where the number comes from: another data directory, another object, or a mistake.',
  },
  LEASE_HOLDER_MISMATCH: {
    when:
      'Check 5 of the seven fence checks: the number is the newest one, `holder_id` is given, and it is not the ' +
      'holder.',
    todo: "Correct the caller: it uses somebody else's number.",
  },
  VERSION_MISMATCH: {
    when:
      'Check 7 of the seven fence checks: the lease is in order, `if_version` is given, and the object has another ' +
      'version. 0 stands for "there is no object". `detail` says which version it has.',
    todo: 'Read the object, decide again, and write with its version.',
  },
  PAYLOAD_TOO_LARGE: {
    when:
      'The body of a request has more than 1 MiB; a payload, result, value or metadata has more than 256 KiB; or ' +
      'the result and the writes of one completion have more than 1 MiB together. `index` says which of several ' +
      'writes it was.',
    todo: 'Keep large things elsewhere and put a reference to them here. Split a batch that is too large.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    when:
      'The request has a body whose `Content-Type` is missing or is not `application/json`, or which has a ' +
      '`Content-Encoding`.',
    todo:
      'Send JSON and say so. `curl -d` calls its body a form; `curl --json` sends the right header. Nothing was ' +
      'done.',
  },
  WRITE_UNFENCED: {
    when:
      'Check 1 of the seven fence checks: a write or a delete without a `lease`, or with one that has no ' +
      '`lease_seq`.',
    todo: "Acquire the lease of the object's name and show its `lease_seq`.",
  },
  HEADERS_TOO_LARGE: {
    when: 'The headers of the request, its address included, are larger than 16 KiB.',
    todo: 'Send less of them: long cookies and very long queries are the usual cause.',
  },
  INTERNAL: {
    when:
      'The server met a case that its makers did not foresee. Whether the call took effect is unknown. The log of ' +
      'the server has the details under the `requestId`.',
    todo:
      'Report it, with those lines. Look at what the call did before you repeat it, or repeat it with the same ' +
      '`task_id`, `request_id` or `token`.',
  },
  OVERLOADED: {
    when:
      'More calls wait to be decided than the queue may hold: 100 000 ordinary ones, 400 000 that keep or end ' +
      'ownership, 256 MiB of opaque bytes in all; or this one would have to wait in a line, and those in lines keep 256 MiB ' +
      'of names and metadata already; or it is a `task.lease` in a batch that has been given 16 MiB of tasks. ' +
      'Nothing was done.',
    todo:
      'Slow down and try again soon; over HTTP `Retry-After` says when. What keeps or ends ownership is decided ' +
      'before everything else, so leases are not lost.',
  },
  UNAVAILABLE: {
    when:
      'The log could not be written, or the authority is being stopped. In process this is no answer but an ' +
      'exception, a `LeaseholdError` with this code and the fault as its `cause`. Whether the call took effect is ' +
      'unknown. A handle that has been closed, of `open` or `connect`, throws it too: then nothing was done, and ' +
      'trying again is no use.',
    todo:
      'Repeat the call with the same `task_id`, `request_id` or `token` once the server is back, or the directory ' +
      'has been opened anew.',
    see: { title: 'operating', page: 'operating.md#when-the-log-cannot-be-written' },
  },
  NOT_LEADER: {
    when:
      'The log is in a database, and this server is a standby: it reads along and takes over when the leader is ' +
      'gone. `leader_url` says where the leader is, as far as it is known; without it nobody leads at the moment, or ' +
      'this server waits for a guard that it has left behind itself. Nothing was done.',
    todo:
      'Ask the leader, or try again soon; over HTTP `Retry-After` says when. A client that was given all the URLs ' +
      'does so by itself. Reads that may lag behind take `stale=ok`.',
    see: { title: 'high availability', page: 'guides/high-availability.md' },
  },
  DISK_FULL: {
    when:
      'The space for the next segment of the log could not be had, and the call would make something new: ' +
      '`task.create`, `task.lease`, `lease.acquire`, `lease.acquire_all`, `object.write`, `intent.accept`, ' +
      '`session.start`. Renewals, completions, failures, releases, ends of sessions and expiries go on as long as ' +
      'the reserve lasts; after that they are refused too.',
    todo: 'Make room on the disk and try again.',
    see: { title: 'operating', page: 'operating.md#a-full-disk' },
  },
} as const satisfies Record<RefusalCode, Explanation>;
