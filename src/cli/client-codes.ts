/** The codes that no server answers with: the client and the command line report them. */

import type { RefusalCode } from '../core/refusals.ts';
import type { ErrorCode } from '../protocol/leasehold-error.ts';

export const CLIENT_CODES = {
  LEASE_LOST: {
    says: 'The lease was lost while its holder relied on it.',
    when: 'The lease expired, was superseded by a newer grant to its holder, was broken or wiped, or could not be renewed in time. The sentence says which.',
    todo: 'Stop the work that it protected: another holder may be doing it. Writes with its fencing number are refused from now on. Acquire the lease again to continue.',
  },
  LEASE_ASKED: {
    says: 'Another caller asks the holder of a lease to give way.',
    when: 'The `asked` signal of a held lease aborts with it after `leases.ask`, `leasehold lease ask` or `lease.ask`; `leasehold run` prints it on stderr.',
    todo: 'Finish soon and release the lease, or ignore the request: the lease ends only by its holder or by time.',
  },
  UNREACHABLE: {
    says: 'No server answered.',
    when: 'No process listens at the address, the network or TLS failed, or the answer did not come in time. `effect` says whether the call may have been carried out.',
    todo: 'Check the URL and the server with `leasehold doctor`. A call whose effect is unknown may be repeated with the same ids.',
  },
  PROTOCOL: {
    says: 'The answer does not come from a leasehold server of a compatible version.',
    when: 'The answer was not JSON of this protocol: a proxy, a login page or another program is at that address.',
    todo: 'Check the URL.',
  },
  INVALID_TASK: {
    says: 'The input, output or checkpoint of a task does not fit its definition.',
    when: '`enqueue` was given an input, or a handler an input, result or checkpoint, that the schema of the task refuses.',
    todo: 'Correct the value or the schema. Nothing was changed.',
  },
  TASK_FAILED: {
    says: 'The task has failed, or is dead.',
    when: '`output` of a receipt was awaited, and the task ended without a result. `details` has its state and the reason.',
    todo: 'Look at the reason. `result` gives the same as a value.',
  },
  TASK_CANCELLED: {
    says: 'The task was cancelled.',
    when: '`output` of a receipt was awaited, and the task was cancelled before it had a result. `details.reason` says why.',
    todo: 'Nothing, if that was intended. `tasks.requeue` runs it again, as a new task.',
  },
  TASK_PENDING: {
    says: 'The wait is over, and the task has not ended.',
    when: '`output` of a receipt was given a `wait`, and the task took longer.',
    todo: 'Ask again later, from any process that knows the id of the task.',
  },
  TASK_TIMEOUT: {
    says: 'The handler exceeded its timeout.',
    when: 'The signal of a handler aborts with it when its `timeout` is over. A second later the task fails.',
    todo: 'End the work. Give the task or the worker a longer `timeout` if it needs one.',
  },
  WORKER_STOPPING: {
    says: 'The worker is stopping.',
    when: 'The signal of a handler aborts with it when the handler has not finished at the end of the grace period of its worker.',
    todo: 'End the work: the task is handed back, which is neither a failure nor an attempt.',
  },
  SESSION_PENDING: {
    says: 'The wait is over, and the session is not READY.',
    when: '`ready` of a session was given a `wait`, and starting took longer.',
    todo: 'Ask again later; the session continues.',
  },
  LOG_HELD: {
    says: 'Another process holds the data directory.',
    when: '`open` was called on a directory that a server or another handle has open. `details.holder` says which.',
    todo: 'Use `connect` to talk to that server, or end it first.',
  },
  LOG_DAMAGED: {
    says: 'Durable bytes of the log have changed.',
    when: '`open` read the log. `details` has the file and the offset. Nothing is repaired automatically.',
    todo: 'Check the log with `leasehold wal verify`, and restore the newest backup.',
  },
  LOG_TOO_NEW: {
    says: 'The log was written by a newer version of leasehold.',
    when: '`open` read a format it does not know.',
    todo: 'Use that version, or a newer one.',
  },
  COMMAND_NOT_GOVERNED: {
    says: 'The command is not one of the governed commands.',
    when: 'An `OperatorRuntime` was given a command that is not registered, or whose name does not begin with `dot_iu_`.',
    todo: 'Register it under such a name.',
  },
  GATE_NOT_FOUND: {
    says: 'There is no such gate.',
    when: 'An `OperatorRuntime` was to open a gate that `dot_config` does not have.',
    todo: 'Add the row, or correct the name.',
  },
  GATES_NOT_CLOSED: {
    says: 'The run could not close its gates.',
    when: 'The database failed while an `OperatorRuntime` closed its gates.',
    todo: 'The next run under the same lease closes them. Run it with no commands.',
  },
} as const satisfies Record<Exclude<ErrorCode, RefusalCode>, object>;
