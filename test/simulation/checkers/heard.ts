// A follower of one session gets every change in the log, in order, once, not before it is durable, and nothing else;
// and its stream ends only when there is nothing left to send. Compacted entries cannot be sent any more.
import type { HeardEvent } from '../history.ts';
import { type Complain, checker } from './checker.ts';
import { type Fact, type Reading, text } from './reading.ts';

const ENDS: ReadonlySet<string> = new Set(['STOPPED', 'FAILED', 'CANCELLED']);

export const heard = checker(
  'heard',
  'A follower of a session gets exactly its entries, once and in order, also when it resumes; its stream ends only when nothing is left.',
  (reading, complain) => {
    const { events, eras, log } = reading;
    const isLossy = events.some(
      (event) =>
        event.kind === 'fault' && event.allows.some(({ may }) => may === 'lose' || may === 'restore'),
    );
    if (isLossy) return;
    const lives = livesOf(eras.at(-1)?.facts ?? []);
    const keptFrom = log?.[0]?.seq ?? 0;
    const streams = new Map<number, Stream>();
    for (const event of events) {
      if (event.kind !== 'heard') continue;
      let stream = streams.get(event.stream);
      if (stream === undefined) {
        const life = (lives.get(event.session) ?? []).filter(({ seq }) => seq >= event.from);
        stream = { life, next: 0, before: undefined };
        streams.set(event.stream, stream);
      }
      judgeOne(event, stream, keptFrom, reading, complain);
      stream.before = event;
    }
  },
);

interface Stream {
  /** The changes there are. */
  readonly life: readonly Fact[];
  /** How many of them were received. */
  next: number;
  before: HeardEvent | undefined;
}

function livesOf(facts: readonly Fact[]): ReadonlyMap<string, readonly Fact[]> {
  const lives = new Map<string, Fact[]>();
  for (const fact of facts) {
    const { type, session_id: id } = fact.entry;
    if (type === 'IntentAccepted') lives.set(text(id), [fact]);
    else if (type === 'SessionChanged') lives.get(text(id))?.push(fact);
  }
  return lives;
}

function judgeOne(
  event: HeardEvent,
  stream: Stream,
  keptFrom: number,
  { placeOf }: Reading,
  complain: Complain,
): void {
  const { life, next, before } = stream;
  const who = `${event.client}, which follows ${event.session},`;
  const missed = (until: number): Fact | undefined =>
    life.slice(next, until).find(({ seq }) => seq >= keptFrom);
  if (event.is === 'left' || event.is === 'failed') return;
  if (event.is !== 'entry') {
    const isOver = life.length === 0 || ENDS.has(text(life.at(-1)!.entry.state));
    const unheard = event.is === 'not-found' || event.is === 'gone' ? undefined : missed(life.length);
    if (!isOver) complain(`${who} is sent away (${event.is}), but its session goes on`, before, event);
    else if (unheard !== undefined)
      complain(`${who} is sent away (${event.is}) and has not heard of ${unheard.seq}`, unheard.event, event);
    return;
  }
  const place = life.findIndex(({ seq }) => seq === event.seq);
  const fact = life[place];
  if (fact === undefined || fact.entry.type !== event.type || text(fact.entry.state) !== event.state) {
    complain(`${who} hears of ${event.type} ${event.state} at ${event.seq}, which is not in its life`, event);
    return;
  }
  if (place < next) complain(`${who} hears of ${event.seq} again`, before, event);
  const skipped = missed(place);
  if (skipped !== undefined)
    complain(`${who} hears of ${event.seq} and has not heard of ${skipped.seq}`, skipped.event, event);
  if (placeOf(fact.event) > placeOf(event))
    complain(`${who} hears of ${event.seq} before it is durable`, event, fact.event);
  stream.next = Math.max(next, place + 1);
}
