// Of several servers on one database one answers at a time. An answer from memory never leaves a server once another
// one leads in a later epoch. An answer to a timely append may be sent later, because no other writer came before it.
import type { BootEvent } from '../history.ts';
import { checker } from './checker.ts';

export const oneLeader = checker(
  'one-leader',
  'Of several servers none answers a read once another has taken its place.',
  ({ events, calls }, complain) => {
    const reads = new Map(calls.flatMap(({ call }) => (call.op === 'lease.get' ? [[call.id, call]] : [])));
    let newest: BootEvent | undefined;
    for (const event of events) {
      if (event.kind === 'boot' && event.epoch > (newest?.epoch ?? 0)) newest = event;
      if (event.kind !== 'served' || event.epoch >= (newest?.epoch ?? 0)) continue;
      const call = reads.get(event.id);
      if (call === undefined) continue;
      complain(`a server of epoch ${event.epoch} answers while ${newest!.node} leads`, newest, call, event);
    }
  },
);
