/** A transport that records what a program asks for and is answered, and changes nothing. */

import type { Transport } from '../../../src/client/transport.ts';
import { OPERATIONS } from '../../../src/operations/table.ts';
import { LeaseholdError } from '../../../src/protocol/leasehold-error.ts';
import type { Json } from '../plan.ts';
import type { Recorder } from './recorder.ts';
import type { SimProcess } from './sim-process.ts';

export function recordedTransport(transport: Transport, recorder: Recorder, process: SimProcess): Transport {
  return {
    async call(operation, request, options) {
      const id = recorder.call('user', process.name, operation, plain(request), 0);
      try {
        const reply = await transport.call(operation, request, options);
        if (process.isDead) return reply;
        const { ok: _, ...body } = reply as { ok: boolean };
        const status = reply.ok ? OPERATIONS[operation].status : reply.status;
        recorder.answer(id, status, plain(body));
        return reply;
      } catch (fault) {
        if (!process.isDead) {
          const isOurs = fault instanceof LeaseholdError;
          const effect = isOurs && fault.effect === 'none' ? 'none' : 'unknown';
          recorder.unanswered(id, effect, isOurs ? fault.code : 'aborted');
        }
        throw fault;
      }
    },
    log: (request) => transport.log(request),
    follow: (fromSeq, signal, only) => transport.follow(fromSeq, signal, only),
    close: () => transport.close(),
    ...(transport.connection === undefined ? {} : { connection: transport.connection }),
    listen: (listener) => transport.listen!(listener),
    earliestOf: (reply) => transport.earliestOf!(reply),
  };
}

function plain(value: object): Record<string, Json> {
  return JSON.parse(JSON.stringify(value)) as Record<string, Json>;
}
