/** The world of an orchestrator: the authority's client, time, the process table, pipelines, and an event sink. */
import type { Leasehold } from '../client/leasehold.ts';
import type { ClientWorld } from '../client/world.ts';
import type { ProcessTable } from '../seams/process-table.ts';
import type { Pipelines } from './pipelines.ts';

/**
 * A client without retries: an orchestrator may continue only while it is answered, so it must see the first failure.
 */
export type AuthorityClient = Pick<Leasehold, 'call' | 'whoami' | 'follow'>;

export interface OrchestratorWorld extends Pick<ClientWorld, 'clock' | 'timers' | 'newToken'> {
  /** Its moments are sent to pipelines, so their keepers must read the same clock. */
  readonly clock: ClientWorld['clock'];
  readonly client: AuthorityClient;
  readonly processTable: ProcessTable;
  readonly pipelines: Pipelines;
  /** One significant event: a few words, and its fields. */
  say(level: 'info' | 'warn' | 'error', event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Start-up failed, and nothing was started. The message says why. */
export class FatalError extends Error {
  override readonly name = 'FatalError';
}
