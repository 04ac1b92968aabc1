// Builds reports in the background and publishes them under a lease.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { defineTask, type Leasehold, type TaskContext, type Worker } from 'leasehold';
import { LEASEHOLD } from './leasehold.module.js';

export interface ReportOrder {
  readonly customer: string;
  readonly pages: number;
}

/** What the controller enqueues and the worker handles. The types travel with it. */
export const buildReport = defineTask<ReportOrder, { version: number }>('build-report', {
  retry: { maxFailures: 3, backoff: '1s' },
});

/** The name of a lease, and of the object that only its holder can write. */
export const reportOf = (customer: string): string => `report/${customer}`;

@Injectable()
export class ReportsWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private worker?: Worker;

  constructor(@Inject(LEASEHOLD) private readonly lh: Leasehold) {}

  onApplicationBootstrap(): void {
    // No `drainOn`: Nest gets the signals and calls the hooks in order.
    const options = { concurrency: 4, grace: '10s', drainOn: [] } as const;
    this.worker = this.lh.work(buildReport, options, (task) => this.build(task));
  }

  /** No new tasks; running ones have `grace` to finish and are handed back then. What waits stays in the log. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.worker?.drain();
  }

  /**
   * One report of a customer at a time, in all processes. A process that is paused for longer than its lease lasts cannot
   * publish an old report over a newer one: its write carries a smaller fencing number and is refused.
   */
  private build({
    input: { customer, pages },
    signal,
  }: TaskContext<ReportOrder>): Promise<{ version: number }> {
    return this.lh.withLease(reportOf(customer), { wait: '1m', signal }, async (lease) => {
      await sleep(pages * 100, undefined, { signal: AbortSignal.any([signal, lease.signal]) }); // query, render
      const { version } = await lease.write({ customer, pages });
      return { version };
    });
  }
}
