/** This process, as the client sees it: the default holder name, the request to end, and the exit on a lost guard. */
import { writeSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ClientWorld } from '../client/world.ts';
import { onSignal } from './node-signals.ts';
import { startWatchdog } from './node-watchdog.ts';

/** A holder has at most 256 bytes, and a token follows. */
const HOST_MAX = 64;

export const thisProcess: Required<
  Pick<ClientWorld, 'label' | 'ending' | 'onSignal' | 'onFault' | 'onDeprecated'>
> = {
  label: `${hostname().slice(0, HOST_MAX)}:${process.pid}`,
  onSignal,
  onFault(fault) {
    writeSync(
      2,
      `leasehold: a worker cannot go on: ${fault instanceof Error ? fault.message : String(fault)}\n`,
    );
  },
  onDeprecated: (says) => process.emitWarning(says, 'DeprecationWarning'),
  ending: {
    startWatchdog,
    endProcess(code, says) {
      // Directly to the descriptor: buffered output may be lost on exit.
      writeSync(2, `${says}\n`);
      process.exit(code);
    },
  },
};
