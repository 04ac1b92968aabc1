/** What an orchestrator lives in: an authority to ask, time, the processes of this machine, pipelines, and somebody to tell. */
import type { Leasehold } from '../client/leasehold.ts';
import type { ClientWorld } from '../client/world.ts';
import type { ProcessTable } from '../seams/process-table.ts';
import type { Pipelines } from './pipelines.ts';

/** A client whose calls are tried once: whoever may go on only while it is answered must hear of the first failure. */
export type AuthorityClient = Pick<Leasehold, 'call' | 'whoami' | 'follow'>;

export interface OrchestratorWorld extends Pick<ClientWorld, 'clock' | 'timers' | 'newToken'> {
  /** Moments of `clock` are told to pipelines, so it must be one that their keepers read as well. */
  readonly clock: ClientWorld['clock'];
  readonly client: AuthorityClient;
  readonly processTable: ProcessTable;
  readonly pipelines: Pipelines;
  /** One meaningful event: a few words, and what they are about. */
  say(level: 'info' | 'warn' | 'error', event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Start-up came to nothing, and nothing was begun. The message is the line that says why. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
}
