/** The first code of a keeper process: hears its parent over the channel, and knows by its end that the parent is gone. */

import { type FromKeeper, Keeper, type ToKeeper } from '../keeper/keeper.ts';
import { machineClock } from '../world/machine-clock.ts';
import { openParentChannel } from '../world/node-channel.ts';
import { nodeLogFiles } from '../world/node-log-files.ts';
import { nodeProcesses } from '../world/node-processes.ts';
import { systemTimers } from '../world/system-clock.ts';

const keeper = new Keeper(
  { clock: machineClock, timers: systemTimers, processes: nodeProcesses, files: nodeLogFiles },
  (message: FromKeeper) => parent.send(message),
);
const parent = openParentChannel(
  (message) => keeper.hear(message as ToKeeper),
  () => keeper.abandon(),
);

// Signals are for whoever holds the lease to hear and to pass on; a keeper that died of one would keep nothing.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGTSTP'] as const) {
  process.on(signal, () => undefined);
}
