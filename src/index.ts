/** leasehold: ownership that time can revoke. */

export type { CallOptions } from './authority/authority.ts';
export { UnavailableError } from './authority/authority.ts';
export type { RefusalCode } from './core/refusals.ts';
export type { Retention } from './core/retention.ts';
export { Json } from './embedded/json.ts';
export type { Leasehold, Status } from './embedded/leasehold.ts';
export { type OpenOptions, open } from './embedded/open.ts';
export type { Bodies } from './embedded/operations.ts';
export type { Reply } from './embedded/operator.ts';
export type { Problem } from './embedded/problem.ts';
export type { LeaseRecord, ObjectRecord, TaskRecord } from './embedded/records.ts';
export { LogDamagedError, LogHeldError, LogTooNewError } from './engines/log.ts';
export type { Operation, Requests } from './protocol/requests.ts';
