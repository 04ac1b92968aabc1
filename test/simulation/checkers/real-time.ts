// A lease lasts, in the one true time of the world, for as long as its holder relies on it, whatever the clock of the database
// does and whichever server leads. Only a server that starts cold may be mistaken: it has nothing but that clock.
import { marginMs } from '../../../src/seams/deadline.ts';
import type { AnswerEvent, BootEvent, CallEvent, EntryEvent } from '../history.ts';
import { checker } from './checker.ts';
import { whole } from './reading.ts';

/** What the holder was answered, and until when it relies on that if its clocks are right. */
interface Trust {
  readonly call: CallEvent;
  readonly answer: AnswerEvent;
  readonly untilMs: number;
}

export const realTime = checker(
  'real-time',
  "In the world's own time: behind a warm standby no lease ends before its holder stops relying on it.",
  ({ events, calls, placeOf }, complain) => {
    const boots = events.filter((event): event is BootEvent => event.kind === 'boot' && 'isWarm' in event);
    if (boots.length === 0) return;
    const trusts = new Map<number, Trust>();
    for (const { call, answer } of calls) {
      if (answer?.status !== 200 || !['lease.acquire', 'lease.renew'].includes(call.op)) continue;
      const remainingMs = whole(answer.body.remaining_ms);
      const untilMs = call.simMs + remainingMs - marginMs(remainingMs);
      const seq = whole(answer.body.lease_seq);
      if (untilMs > (trusts.get(seq)?.untilMs ?? 0)) trusts.set(seq, { call, answer, untilMs });
    }
    for (const expired of events.filter(isExpiry)) {
      const trust = trusts.get(whole(expired.entry.lease_seq));
      if (trust === undefined || expired.simMs >= trust.untilMs) continue;
      const isSince = (boot: BootEvent): boolean => placeOf(boot) > placeOf(trust.call);
      const isColdSince = boots.some((boot) => isSince(boot) && boot.isWarm === false);
      if (isColdSince) continue;
      const earlyMs = Math.round(trust.untilMs - expired.simMs);
      complain(
        `lease ${trust.answer.body.lease_seq} ends ${earlyMs} ms early`,
        trust.call,
        trust.answer,
        expired,
      );
    }
  },
);

const isExpiry = (event: { readonly kind: string }): event is EntryEvent => {
  if (event.kind !== 'entry') return false;
  const { source, entry } = event as EntryEvent;
  return source === 'feed' && entry.type === 'NameExpired';
};
