/** `lease.waiters`: the callers that wait for a name. Soft state: a place in line lasts as long as its connection. */
import { type Static, Type } from '@sinclair/typebox';
import { type LineOfName, readWaiters, type WaitingFor } from '../authority/waiter-reads.ts';
import { instant } from '../protocol/instant.ts';
import { GRANTED_AT, REPORT } from './example-story.ts';
import { cursorOf, fields, LeaseName, Limit, note, stale } from './fields.ts';
import { leaderRead } from './operation.ts';
import { Instant, NextCursor, RemainingMs, Text } from './reply-fields.ts';

export const Waiter = Type.Object({
  holder: note(Text, 'the holder that waits'),
  names: Type.Array(Text, { description: 'all names it requested; it is granted all of them or none' }),
  waiting_since: note(Instant, 'when it joined the line'),
  remaining_ms: note(RemainingMs, 'how long it still waits'),
  blocked_by: Type.Array(Text, {
    description: 'those of its names that are held, or have another waiter first in line',
  }),
});

export const listWaiters = leaderRead({
  name: 'lease.waiters',
  path: '/v1/leases/{name}/waiters',
  long: 'list',
  does: 'List the waiters for a name, in the order in which they are served. Soft state.',
  details: `A request for several names waits in all their lines and is granted once it is first in each of them and all are free.`,
  request: fields({
    name: LeaseName,
    limit: Type.Optional(Limit),
    cursor: Type.Optional(cursorOf('^[0-9]{1,16}$')),
    stale,
  }),
  reply: Type.Object({ waiters: Type.Array(Waiter), next_cursor: NextCursor }),
  refusals: [],
  example: {
    request: { name: REPORT.name, limit: 100 },
    reply: {
      waiters: [
        {
          holder: 'report-host-2',
          names: [REPORT.name],
          waiting_since: GRANTED_AT,
          remaining_ms: 28_500,
          blocked_by: [REPORT.name],
        },
      ],
    },
  },
  async look({ name, limit = 100, cursor = '0' }, { authority }) {
    const { waiters, next, nowMs }: LineOfName = await authority.read((machine) =>
      readWaiters(machine, name, limit, Number(cursor)),
    );
    return {
      ok: true,
      waiters: waiters.map((waiter) => waiterRecord(waiter, nowMs)),
      ...(next === null ? {} : { next_cursor: String(next) }),
    };
  },
});

function waiterRecord(waiter: WaitingFor, nowMs: number): Static<typeof Waiter> {
  return {
    holder: waiter.holder,
    names: [...waiter.names],
    waiting_since: instant(waiter.sinceMs),
    remaining_ms: Math.max(0, waiter.deadlineMs - nowMs),
    blocked_by: [...waiter.blockedBy],
  };
}
