/** The codes that no server answers: what the client and the command line say when they could not go on. */
import type { ErrorCode } from '../client/error.ts';
import type { RefusalCode } from '../core/refusals.ts';

export const CLIENT_CODES = {
  LEASE_LOST: {
    says: 'The lease was lost while it was being relied on.',
    when: 'The lease expired, was superseded by a newer grant to its holder, was broken or wiped, or could not be renewed in time. The sentence says which.',
    todo: 'Stop the work it was for: somebody else may be doing it. What carries the fencing number is refused from now on. Take the lease again to go on.',
  },
  UNREACHABLE: {
    says: 'No server answered.',
    when: 'Nobody listens at the address, the network or TLS failed, or the answer did not come in time. `effect` says whether the call may have been carried out.',
    todo: 'Check the URL and the server with `leasehold doctor`. A call whose effect is unknown may be made again with the same ids.',
  },
  PROTOCOL: {
    says: 'What answered is no leasehold server, or one we cannot talk to.',
    when: 'The answer was no JSON of ours: a proxy, a login page or another program is at that address.',
    todo: 'Check the URL.',
  },
  INVALID_TASK: {
    says: 'The input or output of a task does not fit its definition.',
    when: '`enqueue` was given an input, or a handler an input or result, that the schema of the task refuses.',
    todo: 'Correct the value or the schema. Nothing was made.',
  },
} as const satisfies Record<Exclude<ErrorCode, RefusalCode>, object>;
