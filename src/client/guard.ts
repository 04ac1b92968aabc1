/**
 * The guard: a lease that keeps a process the only one of its kind, and fails closed. A process that cannot acquire it
 * does not start. The guard is lost with the first renewal that fails, is refused, or is unanswered when the next one
 * is due: `signal` aborts, and after a grace period that ends before the deadline the process exits with code 4. A
 * watchdog thread kills the process when the event loop is blocked past the deadline.
 */

import type { ProcessEnding } from '../seams/process-ending.ts';
import { type Duration, durationMs } from './durations.ts';
import type { Lease } from './held.ts';
import type { Grant } from './lease-grant.ts';
import { LeaseHandle } from './lease-handle.ts';
import { LEASE_OPTIONS, type LeaseOptions, type NamedLeases } from './named-leases.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

const EXIT_LOST = 4;
/** How long before the watchdog fires the process exits by itself, with its exit code and message. */
const ENDING_MS = 200;

export interface GuardOptions extends LeaseOptions {
  /** How long `main` may take to end after the guard is lost, within the lease's deadline; default '2s'. */
  readonly grace?: Duration;
  /**
   * Whether losing the guard ends the process; default true. If false, `main` is awaited and then `guard` throws; there
   * is no watchdog.
   */
  readonly endsProcess?: boolean;
}

const OPTIONS = ['grace', 'endsProcess', ...LEASE_OPTIONS];

/** The lease as `main` receives it, without the methods that release or renew it. */
export type Guarded = Omit<Lease, 'release' | 'renew' | typeof Symbol.asyncDispose>;

export type GuardedMain<T> = (guarded: Guarded) => Promise<T> | T;

export class Guard {
  private readonly transport: Transport;
  private readonly world: ClientWorld;
  private readonly leases: NamedLeases;

  constructor(transport: Transport, world: ClientWorld, leases: NamedLeases) {
    this.transport = transport;
    this.world = world;
    this.leases = leases;
  }

  async run<T>(name: string, options: GuardOptions, main: GuardedMain<T>): Promise<T> {
    if (typeof main !== 'function') throw new TypeError('guard takes a name, options and a function.');
    refuseUnknown(options, OPTIONS, 'guard');
    const { grace = '2s', endsProcess = true, ...leaseOptions } = options;
    const graceMs = durationMs(grace, 'grace');
    const ending = endsProcess ? this.ending() : null;
    // Started before the lease: a thread started later would miss an event loop that blocks immediately.
    const watchdog = await ending?.startWatchdog(
      `leasehold: the guard "${name}" ran out while the event loop was blocked; this process is killed.`,
      (fault) =>
        ending.endProcess(
          EXIT_LOST,
          `leasehold: the watchdog of the guard "${name}" failed: ${fault.message}`,
        ),
    );
    try {
      const grant = await this.leases.grant([name], leaseOptions, true);
      grant.onDeadline = (deadline) => watchdog?.moveTo(deadline);
      grant.onDeadline(grant.deadline);
      const outcome = await this.runUnder(grant, main, ending === null ? null : graceMs);
      if (grant.loss === null) {
        // The guarded work has ended, so a slow release must not get the process killed.
        watchdog?.stop();
        await this.leases.renewal.release(grant);
        return outcome!();
      }
      ending?.endProcess(EXIT_LOST, `leasehold: ${grant.loss.message} This process ends.`);
      throw grant.loss;
    } finally {
      watchdog?.stop();
    }
  }

  private ending(): ProcessEnding {
    const { ending } = this.world;
    if (ending !== undefined) return ending;
    throw new TypeError(
      'A lost guard must end its process, which is not possible here; set endsProcess to false.',
    );
  }

  /** The outcome of `main` as a function that returns or throws it; null when `main` did not end within its grace. */
  private async runUnder<T>(
    grant: Grant,
    main: GuardedMain<T>,
    graceMs: number | null,
  ): Promise<(() => T) | null> {
    const { renewal } = this.leases;
    const hold = this.world.timers.hold();
    try {
      const lost = new Promise<null>((resolve) => {
        grant.signal.addEventListener('abort', () => resolve(null), { once: true });
      });
      const running = outcomeOf(main, this.guarded(grant));
      const outcome = await Promise.race([running, lost]);
      if (renewal.isHeld(grant)) return outcome;
      if (graceMs === null) return await running;
      return await Promise.race([running, this.after(this.graceOf(grant, graceMs))]);
    } finally {
      hold.cancel();
    }
  }

  private guarded(grant: Grant): Guarded {
    const lease = new LeaseHandle(this.transport, this.leases.renewal, grant);
    const { name, holder, leaseSeq, signal, asked, remaining, assertHeld, extend, write } = lease;
    return { name, holder, leaseSeq, signal, asked, remaining, assertHeld, extend, write };
  }

  /**
   * After a failed renewal the rest of the lease is still exclusive; after any other loss the next holder may be
   * running already.
   */
  private graceOf({ loss, deadline }: Grant, graceMs: number): number {
    if (loss?.details.loss !== 'unreachable') return 0;
    return Math.max(0, Math.min(graceMs, deadline.remainingMs(this.world.clock) - ENDING_MS));
  }

  private after(ms: number): Promise<null> {
    return new Promise((resolve) => {
      this.world.timers.after(ms, () => resolve(null));
    });
  }
}

async function outcomeOf<T>(main: GuardedMain<T>, guarded: Guarded): Promise<() => T> {
  try {
    const value = await main(guarded);
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
