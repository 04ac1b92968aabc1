/** leasehold: ownership that time can revoke. */

export * from './client-node.ts';
export type { Retention } from './core/retention.ts';
export { LogDamagedError, LogHeldError, LogTooNewError } from './engines/log.ts';
export { type IntentOptions, type OpenOptions, open } from './open.ts';
