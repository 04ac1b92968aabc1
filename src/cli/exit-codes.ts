/** The exit codes of `leasehold`; a command that runs a program of yours exits with the code of that program. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  inUse: 3,
  guardLost: 4,
  damaged: 5,
  /** EX_CANTCREAT of sysexits.h: another holder has the lease. */
  notAcquired: 73,
  /** EX_TEMPFAIL of sysexits.h: the lease was lost while the program ran. */
  leaseLost: 75,
  notExecutable: 126,
  commandNotFound: 127,
} as const;
