/**
 * The service of a standby: it refuses with NOT_LEADER and names the leader. With `stale=ok` it answers reads of the state
 * from its own copy, and the reply says how current the copy is.
 */
import type { Standby } from '../authority/standby.ts';
import { type CheckedCall, standbyCalls } from '../operations/calls.ts';
import { OPERATIONS, type Operation } from '../operations/table.ts';
import type { Exchange } from './exchange.ts';
import { standbyLive } from './live-operations.ts';
import { Metrics } from './metrics.ts';
import { type Handle, operationHandler, refuseFault } from './operation-handler.ts';
import type { Service, ServiceParts } from './service.ts';

/** The header with the position of the standby's copy. */
const STALE = 'leasehold-stale';

export function standbyService(standby: Standby, parts: ServiceParts): Service {
  const { timers, longPolls, longReads, counts, reportFault, loopLag } = parts;
  const calls = standbyCalls(standby, timers);
  const shown = { longPolls, timers, ...(loopLag === undefined ? {} : { loopLag }) };
  const metrics = new Metrics(standby, counts, shown);

  const refuse = (exchange: Exchange): void => exchange.refuse(standby.refusal);

  /** A read that the caller allows to be stale. */
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
      // Needs no token, so it does not reveal the URL of the leader.
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
