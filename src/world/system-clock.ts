/** The clocks and timers of this machine. */
import { uptime } from 'node:os';

const monotonicMs = (): number => performance.now();

export const systemClock = {
  wallMs: (): number => Date.now(),
  monotonicMs,
  /** On Linux the monotonic clock stops during suspend and /proc/uptime does not; elsewhere neither stops. */
  uptimeMs: process.platform === 'linux' ? (): number => uptime() * 1_000 : monotonicMs,
};

/** Node fires a timer that is set further ahead than this at once. */
const AHEAD_MAX_MS = 2 ** 31 - 1;

export const systemTimers = {
  /** Unreferenced: a lease that expires tomorrow must not keep a program running today. */
  after(ms: number, call: () => void): { cancel(): void } {
    if (ms > AHEAD_MAX_MS) return afterLong(ms, call);
    const timer = setTimeout(call, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  soon(call: () => void): void {
    setImmediate(call);
  },
  hold(): { cancel(): void } {
    const timer = setInterval(() => undefined, 1 << 30);
    return { cancel: () => clearInterval(timer) };
  },
};

/** Splits a long wait into steps that a timer can take. */
function afterLong(ms: number, call: () => void): { cancel(): void } {
  let timer = systemTimers.after(AHEAD_MAX_MS, () => {
    timer = systemTimers.after(ms - AHEAD_MAX_MS, call);
  });
  return { cancel: () => timer.cancel() };
}
