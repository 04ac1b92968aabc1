/**
 * Everything that a server answers while it has one role: a leader decides, a standby names the leader. It is replaced as
 * a whole when the role changes; requests that have begun finish with the service they began with.
 */

import type { PAGES } from '../operations/pages.ts';
import type { Operation } from '../operations/table.ts';
import type { Clock, Timers } from '../seams/clock.ts';
import type { FixedPage } from './fixed-pages.ts';
import type { HttpCounts } from './http-counts.ts';
import type { LiveService } from './live-operations.ts';
import type { LongPolls } from './long-polls.ts';
import type { LongReads } from './long-reads.ts';
import type { LoopLag } from './metrics.ts';
import type { Handle, ReportFault } from './operation-handler.ts';

export type RouteName = Operation | keyof typeof PAGES;

export interface Service {
  readonly handlers: Readonly<Record<Exclude<RouteName, FixedPage>, Handle>>;
  readonly live: LiveService;
  /** Sends followers all durable entries before the service is closed. */
  settle?(): Promise<void>;
  /** Ends streams. */
  close(): void;
}

/** What a server lends to its services. */
export interface ServiceParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly loopLag?: LoopLag;
  readonly freeBytes?: () => Promise<number>;
  readonly counts: HttpCounts;
  readonly longPolls: LongPolls;
  readonly longReads: LongReads;
  readonly reportFault: ReportFault;
  readonly warn: (fields: object, says: string) => void;
  /** Called when the log cannot be read for a follower. */
  readonly onStreamFault: (fault: unknown) => void;
}
