/** leasehold: ownership that time can revoke. */

export * from './client-node.ts';
export { LogDamagedError, LogHeldError, LogTooNewError } from './engines/log.ts';
export {
  type HistoryOptions,
  type IntentOptions,
  type Keeping,
  type OpenOptions,
  open,
  type RetentionOptions,
} from './open.ts';
