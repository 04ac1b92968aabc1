/** The world of a client on Node: the machine's clocks, random ids, and this process. */
import type { ClientWorld } from '../client/world.ts';
import type { UptimeClock } from '../seams/clock.ts';
import { openTelemetry } from './open-telemetry.ts';
import { systemClock, systemTimers } from './system-clock.ts';
import { systemIds } from './system-ids.ts';
import { thisProcess } from './this-process.ts';

export const nodeWorld: ClientWorld & { readonly clock: UptimeClock } = {
  clock: systemClock,
  timers: systemTimers,
  newToken: systemIds.token,
  ...thisProcess,
  get traces() {
    return openTelemetry();
  },
};
