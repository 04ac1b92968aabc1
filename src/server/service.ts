/**
 * Everything a server answers while it has one role, put in its place as a whole when the role changes: whoever leads
 * decides, whoever stands by says who does. Requests that have begun keep what they began with.
 */

import type { PAGES } from '../operations/pages.ts';
import type { Operation } from '../operations/table.ts';
import type { Clock, Timers } from '../seams/clock.ts';
import type { FixedPage } from './fixed-pages.ts';
import type { HttpCounts } from './http-counts.ts';
import type { LongReads } from './long-reads.ts';
import type { LoopLag } from './metrics.ts';
import type { Handle, Trouble } from './operation-handler.ts';
import type { Waits } from './waits.ts';

export type RouteName = Operation | keyof typeof PAGES;

export interface Service {
  readonly handlers: Readonly<Record<Exclude<RouteName, FixedPage>, Handle>>;
  /** Hands over what is durable to those who follow, before it is closed. */
  settle?(): Promise<void>;
  /** Ends what goes on by itself, such as streams. */
  close(): void;
}

/** What a server lends to its services. */
export interface ServiceParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly loopLag?: LoopLag;
  readonly counts: HttpCounts;
  readonly waits: Waits;
  readonly longReads: LongReads;
  readonly trouble: Trouble;
  readonly warn: (fields: object, says: string) => void;
  /** Told when the log cannot be read for somebody who follows it. */
  readonly onStreamFault: (fault: unknown) => void;
}
