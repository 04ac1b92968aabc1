/**
 * Clocks that all processes of this machine share, so that one process can send a deadline to another (the keeper).
 * The monotonic clock counts from boot.
 */
export const machineClock = {
  wallMs: (): number => Date.now(),
  monotonicMs: (): number => Number(process.hrtime.bigint()) / 1e6,
};
