// A follower of the log over the wire gets every entry, in order, once, and none that is not in the log.
import type { FollowedEvent } from '../history.ts';
import { checker } from './checker.ts';

export const followed = checker(
  'followed',
  'A stream delivers every entry in order, and nothing else.',
  ({ events, log }, complain) => {
    const types = new Map(log?.map(({ seq, entry }) => [seq, entry.type]));
    const first = Math.min(...types.keys());
    const isLossy = events.some(
      (event) =>
        event.kind === 'fault' && event.allows.some(({ may }) => may === 'lose' || may === 'restore'),
    );
    const newest = new Map<number, FollowedEvent>();
    for (const event of events) {
      if (event.kind !== 'followed' || isLossy) continue;
      const before = newest.get(event.stream);
      newest.set(event.stream, event);
      if (before !== undefined && event.seq !== before.seq + 1) {
        complain(`${event.client} was told of ${event.seq} after ${before.seq}`, before, event);
      }
      const type = types.get(event.seq);
      if (event.seq >= first && type !== event.type) {
        complain(`${event.client} was told of ${event.type} at ${event.seq}, the log has ${type}`, event);
      }
    }
  },
);
