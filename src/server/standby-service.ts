/**
 * The service of a standby: it says that it is one, and where the leader is. Looks at the state are answered from what
 * it has read along, if the caller says that this will do (`stale=ok`), and the reply says how far that was.
 */
import type { Standby } from '../authority/standby.ts';
import { type CheckedCall, standbyCalls } from '../operations/calls.ts';
import { OPERATIONS, type Operation } from '../operations/table.ts';
import type { Exchange } from './exchange.ts';
import { standbyLive } from './live-operations.ts';
import { Metrics } from './metrics.ts';
import { type Handle, operationHandler, refuseFault } from './operation-handler.ts';
import type { Service, ServiceParts } from './service.ts';

/** What says how far a standby had read along when it answered. */
const STALE = 'leasehold-stale';

export function standbyService(standby: Standby, parts: ServiceParts): Service {
  const { timers, longPolls, longReads, counts, reportFault, loopLag } = parts;
  const calls = standbyCalls(standby, timers);
  const shown = { longPolls, timers, ...(loopLag === undefined ? {} : { loopLag }) };
  const metrics = new Metrics(standby, counts, shown);

  const refuse = (exchange: Exchange): void => {
    const { leaderUrl } = standby;
    exchange.refuse({ refused: 'NOT_LEADER', ...(leaderUrl === null ? {} : { leaderUrl }) });
  };

  /** A look that the caller allows to be stale. */
  const staleLook = (operation: Operation, call: CheckedCall): Handle => {
    const look = operationHandler(operation, call, longPolls, longReads, reportFault);
    return (exchange, arrival) => {
      if (arrival.query.stale !== 'ok' || !standby.isWarm) return refuse(exchange);
      exchange.response.setHeader(STALE, standby.state.lastSeq);
      look(exchange, arrival);
    };
  };

  const operations = Object.fromEntries(
    (Object.keys(OPERATIONS) as Operation[]).map((operation) => {
      const call = calls[operation];
      return [operation, call === undefined ? refuse : staleLook(operation, call)];
    }),
  ) as Record<Operation, Handle>;

  return {
    handlers: {
      ...operations,
      'status.get': operationHandler('status.get', calls['status.get']!, longPolls, longReads, reportFault),
      'whoami.get': operationHandler('whoami.get', calls['whoami.get']!, longPolls, longReads, reportFault),
      batch: refuse,
      log: refuse,
      events: refuse,
      session_events: refuse,
      backup: refuse,
      // Without a token, so without the address of the leader.
      ready: (exchange) => exchange.refuse({ refused: 'NOT_LEADER' }),

      metrics(exchange) {
        metrics.text().then(
          (text) => exchange.answer(200, metrics.contentType, text),
          (fault: unknown) => refuseFault(fault, exchange, reportFault),
        );
      },
    },
    live: standbyLive(standby, calls, longReads),
    close: () => undefined,
  };
}
