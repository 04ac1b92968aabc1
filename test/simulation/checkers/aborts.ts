// Every loss of a lease reaches its holder as an abort, before or at its deadline; and the handle says "held" only while
// what the authority last said lasts, counted from before the question was sent. Excused is who could not run at
// all: paused, blocked, asleep or dead. It is not excused from the second half.
import { leaseIdOfSeq } from '../../../src/core/ids.ts';
import type { HeldEvent } from '../history.ts';
import { checker } from './checker.ts';
import { assuredUntil, handlesOf, troublesOf } from './handles.ts';

/** What keeps a timer from running, or makes the two clocks of a node disagree with each other. */
const STOPPAGES = [
  'process.pause',
  'process.block',
  'process.kill',
  'clock.suspend',
  'clock.jump',
  'clock.drift',
];
const VERDICTS = { 'task.complete': true, 'task.fail': true, 'task.release': true };
/** No stoppage lasts longer. */
const STOPPAGE_MS = 30_000;
/** A program notes that its signal aborted a turn later. */
const NOTING_MS = 1;

export const aborts = checker(
  'aborts',
  'A loss reaches its holder by its deadline; no handle says "held" for longer than promised.',
  (reading, complain) => {
    const endMs = reading.events.at(-1)?.simMs ?? 0;
    const verdicts = new Map<string, number>();
    for (const event of reading.events) {
      if (event.kind !== 'call' || !(event.op in VERDICTS)) continue;
      const key = `${event.client} ${String(event.request.lease_id)}`;
      if (!verdicts.has(key)) verdicts.set(key, event.simMs);
    }
    for (const handle of handlesOf(reading)) {
      const { held, lost, released, uses } = handle;
      for (const used of uses) {
        const untilMs = assuredUntil(handle, used.simMs);
        const troubles = troublesOf(reading, held.client, 0, used.simMs);
        // A clock that stood still and one that was set back leave a client nothing to know the time by.
        if (troubles.includes('clock.suspend') && troubles.includes('clock.jump')) continue;
        if (untilMs === undefined)
          complain(`${held.client} uses ${held.leaseSeq}, of which it was told nothing`, held, used);
        else if (used.simMs > untilMs) {
          complain(
            `${held.client} uses ${held.leaseSeq} at ${used.simMs}, which it could rely on until ${untilMs}`,
            held,
            ...handle.assurances.map(({ call }) => call.answer),
            used,
          );
        }
      }
      const overMs = Math.min(
        lost?.simMs ?? endMs,
        released?.simMs ?? endMs,
        diedMs(held.client),
        endedMs(held),
      );
      const untilMs = assuredUntil(handle, overMs);
      if (untilMs === undefined || overMs <= untilMs + NOTING_MS) continue;
      const troubles = troublesOf(reading, held.client, held.simMs - STOPPAGE_MS, overMs);
      if (troubles.some((fault) => STOPPAGES.includes(fault))) continue;
      complain(
        `${held.client} relied on ${held.leaseSeq} until ${untilMs}, and is told at ${lost?.simMs ?? 'no time'}`,
        held,
        ...handle.assurances.map(({ call }) => call.answer),
        lost,
        released,
      );
    }

    /** A task is given back by the verdict on it, as soon as the program asks its client to give it. */
    function endedMs({ task, leaseSeq, client }: HeldEvent): number {
      if (task === undefined) return Number.POSITIVE_INFINITY;
      return verdicts.get(`${client} ${leaseIdOfSeq(leaseSeq)}`) ?? Number.POSITIVE_INFINITY;
    }

    function diedMs(client: string): number {
      const death = reading.events.find((event) => event.kind === 'death' && event.node === client);
      return death?.simMs ?? Number.POSITIVE_INFINITY;
    }
  },
);
