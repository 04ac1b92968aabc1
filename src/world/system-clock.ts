/** The clocks and timers of the machine we run on. */
export const systemClock = {
  wallMs: (): number => Date.now(),
  monotonicMs: (): number => performance.now(),
};

export const systemTimers = {
  /** Unreferenced: a lease that could expire tomorrow must not keep a program from ending today. */
  after(ms: number, call: () => void): { cancel(): void } {
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
