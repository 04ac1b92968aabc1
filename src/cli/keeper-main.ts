/** The entry point of a keeper process: receives messages from its parent over the channel, whose end means that the parent is gone. */

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
  (message) => keeper.receive(message as ToKeeper),
  () => keeper.abandon(),
);

// The holder of the lease handles and forwards signals. A keeper that died of one would leave its programs unwatched.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGTSTP'] as const) {
  process.on(signal, () => undefined);
}
