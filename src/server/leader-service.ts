/** The service of a leader: every operation and page, decided by the authority behind it. */
import type { OpenCore } from '../open.ts';
import { OPERATIONS, type Operation } from '../operations/table.ts';
import { batchHandler } from './batch.ts';
import { FollowHub } from './follow-hub.ts';
import { leaderLive } from './live-operations.ts';
import { Metrics } from './metrics.ts';
import { type Handle, operationHandler } from './operation-handler.ts';
import { pageHandlers } from './pages.ts';
import type { Service, ServiceParts } from './service.ts';

export function leaderService(core: OpenCore, parts: ServiceParts): Service {
  const { authority, calls, sends } = core;
  const { timers, longPolls, longReads, counts, reportFault, warn, loopLag, freeBytes, onStreamFault } =
    parts;
  const hub = new FollowHub(authority, timers, longReads, onStreamFault);
  const shown = {
    hub,
    longPolls,
    timers,
    warn,
    ...(loopLag === undefined ? {} : { loopLag }),
    ...(freeBytes === undefined ? {} : { freeBytes }),
  };
  const metrics = new Metrics(authority, counts, shown);
  const operations = Object.fromEntries(
    (Object.keys(OPERATIONS) as Operation[]).map((operation) => [
      operation,
      operationHandler(operation, calls[operation], longPolls, longReads, reportFault),
    ]),
  ) as Record<Operation, Handle>;
  return {
    handlers: {
      ...operations,
      batch: batchHandler(sends, reportFault),
      ...pageHandlers({ ...core, clock: parts.clock, hub, metrics, longReads, reportFault }),
    },
    live: leaderLive(core, longReads),
    settle: () => hub.settle(),
    close: () => hub.close(),
  };
}
