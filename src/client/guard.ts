/**
 * The guard: the lease that makes one process the only one of its kind, and fails closed. A process that does not
 * get it does not start. The first renewal that fails, is refused, or is not answered when the next is due ends everything:
 * `signal` aborts, and after a grace that ends before the deadline the process ends, code 4. A thread of its own
 * watches the deadline and kills the process when the main loop is blocked past it.
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
/** How long before the watchdog would kill it the process ends by itself, with its code and its sentence. */
const ENDING_MS = 200;

export interface GuardOptions extends LeaseOptions {
  /** How long `main` has to end by itself after the loss, within the deadline; '2s' unless given. */
  readonly grace?: Duration;
  /** Unless false, losing the guard ends the process. If false, `main` is awaited, then `guard` throws; no thread watches. */
  readonly endsProcess?: boolean;
}

const OPTIONS = ['grace', 'endsProcess', ...LEASE_OPTIONS];

/** What `main` is given: the lease, without the means to give it back. */
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
    // Before the lease: a thread that starts only then would not see a loop that is blocked right away.
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
        // What was guarded has ended, so there is nothing left to watch; the release may take its time.
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
    throw new TypeError('A guard ends its process when it is lost, and this world has none to end.');
  }

  /** What `main` came to, as a function that returns or throws it; null when it did not end in its grace. */
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

  /** A renewal that failed leaves what was left of the lease; any other loss may mean that the next one runs already. */
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
