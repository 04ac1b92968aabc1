/** This process, as the client sees it: what holders are called by default, how it is asked to end, and how a lost guard ends it. */
import { writeSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ClientWorld } from '../client/world.ts';
import { onSignal } from './node-signals.ts';
import { startWatchdog } from './node-watchdog.ts';

/** Holders may have 256 bytes, and a token is to follow. */
const HOST_MAX = 64;

export const thisProcess: Required<Pick<ClientWorld, 'label' | 'ending' | 'onSignal' | 'onFault'>> = {
  label: `${hostname().slice(0, HOST_MAX)}:${process.pid}`,
  onSignal,
  onFault(fault) {
    writeSync(
      2,
      `leasehold: a worker cannot go on: ${fault instanceof Error ? fault.message : String(fault)}\n`,
    );
  },
  ending: {
    startWatchdog,
    endProcess(code, says) {
      // Straight to the descriptor: what is still in a stream when a process exits may be lost.
      writeSync(2, `${says}\n`);
      process.exit(code);
    },
  },
};
