/**
 * Clocks that all processes of this machine read alike: what one of them says can be compared with what another
 * says, which is how a keeper can be told a deadline. The monotonic one counts from the start of the machine.
 */
export const machineClock = {
  wallMs: (): number => Date.now(),
  monotonicMs: (): number => Number(process.hrtime.bigint()) / 1e6,
};
