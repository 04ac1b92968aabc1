/**
 * The world of `leasehold/testing`: the clocks stand still, the event loop runs. Work that needs no time happens by
 * itself; work that needs time happens when a test advances the clocks.
 */

import type { DrainSignal } from '../client/world.ts';
import type { World } from '../open.ts';
import type { ProcessEnding } from '../seams/process-ending.ts';
import { systemTimers } from '../world/system-clock.ts';
import { ManualTime } from './manual-time.ts';

/** Idle turns of the event loop before it counts as quiet: a promise may need one or two. */
const QUIET_TURNS = 3;

/** A process exit that a lost guard would have caused. */
export interface Exit {
  readonly code: number;
  readonly says: string;
}

export class TestWorld extends ManualTime implements World {
  readonly label = 'test';
  readonly exits: Exit[] = [];
  private readonly listeners: Readonly<Record<DrainSignal, Set<() => void>>> = {
    SIGTERM: new Set(),
    SIGINT: new Set(),
  };
  readonly faults: unknown[] = [];
  /** Whether anything has run since the last check. */
  private hasStirred = false;

  readonly ending: ProcessEnding = {
    startWatchdog: async () => ({ moveTo: () => undefined, stop: () => undefined }),
    endProcess: (code, says) => {
      this.exits.push({ code, says });
    },
  };

  onSignal(signal: DrainSignal, call: () => void): () => void {
    const mine = (): void => call();
    this.listeners[signal].add(mine);
    return () => {
      this.listeners[signal].delete(mine);
    };
  }

  /** Acts as the signal would. */
  terminate(signal: DrainSignal): void {
    for (const call of [...this.listeners[signal]]) call();
  }

  onFault(fault: unknown): void {
    this.faults.push(fault);
  }

  protected soon(call: () => void): void {
    this.hasStirred = true;
    systemTimers.soon(() => {
      this.hasStirred = true;
      call();
    });
  }

  async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      this.hasStirred = false;
      await new Promise<void>((resolve) => systemTimers.soon(resolve));
      quiet = this.hasStirred ? 0 : quiet + 1;
    }
  }
}
