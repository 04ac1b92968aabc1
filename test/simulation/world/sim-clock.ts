/**
 * The two clocks of a machine. They begin apart from those of others, may run fast or slow, and the wall clock may be
 * set; while the machine is suspended the monotonic clock stands still and the wall clock does not.
 */
import type { UptimeClock } from '../../../src/seams/clock.ts';
import type { Kernel } from './kernel.ts';

/** The beginning of 2026. */
const START_MS = 1_767_225_600_000;

/** What a wall clock says that nothing is wrong with. */
export function trueWallMs({ nowMs }: Kernel): number {
  return START_MS + Math.floor(nowMs);
}

export class SimClock implements UptimeClock {
  readonly #kernel: Kernel;
  #simMs = 0;
  #monotonicMs: number;
  #suspendedMs = 0;
  #wallMs: number;
  #rate = 1;
  #sleepUntilMs = 0;

  constructor(kernel: Kernel, skewMs: number, uptimeMs: number) {
    this.#kernel = kernel;
    this.#simMs = kernel.nowMs;
    this.#monotonicMs = uptimeMs;
    this.#wallMs = START_MS + skewMs;
  }

  monotonicMs(): number {
    this.#catchUp();
    return this.#monotonicMs;
  }

  uptimeMs(): number {
    this.#catchUp();
    return this.#monotonicMs + this.#suspendedMs;
  }

  wallMs(): number {
    this.#catchUp();
    return Math.floor(this.#wallMs);
  }

  /** Sets the wall clock forward, or back. */
  jump(byMs: number): void {
    this.#catchUp();
    this.#wallMs += byMs;
  }

  /** Parts in a million that the clocks gain. */
  drift(ppm: number): void {
    this.#catchUp();
    this.#rate = 1 + ppm / 1_000_000;
  }

  suspend(forMs: number): void {
    this.#catchUp();
    this.#sleepUntilMs = Math.max(this.#sleepUntilMs, this.#kernel.nowMs + forMs);
  }

  /** Ends whatever is wrong with it; what it says stays as it is. */
  heal(): void {
    this.#catchUp();
    this.#rate = 1;
    this.#sleepUntilMs = 0;
  }

  /** When, by the world's time, this much will have passed here if nothing is changed. */
  simMsIn(ms: number): number {
    const { nowMs } = this.#kernel;
    return Math.max(nowMs, this.#sleepUntilMs) + ms / this.#rate;
  }

  #catchUp(): void {
    const { nowMs } = this.#kernel;
    if (nowMs === this.#simMs) return;
    const passedMs = nowMs - this.#simMs;
    const asleepMs = Math.max(0, Math.min(nowMs, this.#sleepUntilMs) - this.#simMs);
    this.#wallMs += passedMs * this.#rate;
    this.#monotonicMs += (passedMs - asleepMs) * this.#rate;
    this.#suspendedMs += asleepMs * this.#rate;
    this.#simMs = nowMs;
  }
}
