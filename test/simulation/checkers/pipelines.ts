// Pipelines in the true time of the world: never two on one slot, at most one per session, none for a session that
// was reported as ended by itself, and none past the end of the guard it was started under or of its keeper. The
// holder of a broken guard learns it later, at the latest at its deadline. A sleeping machine cannot end anything,
// but its pipelines sleep too. A pipeline whose keeper is dead or stopped depends on its orchestrator; if that dies
// or is paused as well, only the next orchestrator on the same machine can end it, and must do so before it starts
// another one on the slot.
import type { KeeperDeathEvent, KeeperPauseEvent, PipelineEvent } from '../history.ts';
import { type Complain, checker } from './checker.ts';
import { troublesOf } from './handles.ts';
import { follow, GUARD, isRunning } from './ownership.ts';
import type { Fact, Reading } from './reading.ts';
import { namesOf, text, whole } from './reading.ts';

/** A keeper that is left alone gives its pipeline so long, and a little more for what is on its way. */
const ALONE_MS = 1_000;
/** How soon after its machine woke up a keeper has looked at the clock and acted on it. */
const AWAKE_MS = 250;
/** How soon an orchestrator that can act has killed a pipeline that lost its keeper. */
const ORPHANED_MS = 100;
/** Clocks may be so much apart, as a share of what they measure. */
const DRIFT = 0.03;

interface Run {
  readonly begun: PipelineEvent;
  readonly ended: PipelineEvent | undefined;
  readonly fromMs: number;
  readonly toMs: number;
}

export const pipelines = checker(
  'pipelines',
  "In the world's own time: one pipeline a slot and a session, none after the true end of its guard or the reported end of its session, none without its keeper unless its orchestrator is dead or stands still. The next orchestrator on the machine starts none beside an orphan.",
  (reading, complain) => {
    const runs = runsOf(reading);
    // What a lying disk ended or restarted could not be known.
    if (reading.eras.length > 1) return;
    complainOfSecondStarts(runs, complain);
    const orphans = orphansOf(reading, runs);
    for (const [run, { death, dueMs }] of orphans) {
      if (run.toMs <= dueMs) continue;
      complain(
        `${run.begun.session} lost its keeper at ${death.simMs} and runs until ${run.toMs}`,
        run.begun,
        death,
        run.ended,
      );
    }
    const ends = guardEndsOf(reading);
    const pauses = pausesOf(reading, runs);
    // A clock of the authority that was set forward, or stood still, is put right by its next start: leases end early then.
    const isOutOfTime = (run: Run, atMs: number): boolean =>
      troublesOf(reading, 'authority', 0, atMs).some(
        (what) => what === 'clock.jump' || what === 'clock.suspend',
      ) || isAsleep(reading, run, atMs);
    const isExcused = (run: Run, atMs: number): boolean =>
      isOutOfTime(run, atMs) ||
      isOrphan(orphans.get(run), atMs) ||
      isStray(reading, pauses.get(run) ?? [], atMs);
    const isExcusedBeside = (run: Run, next: Run): boolean =>
      run.begun.machine === next.begun.machine ? isOutOfTime(run, next.fromMs) : isExcused(run, next.fromMs);
    complainOfSharedSlots(runs, ends, isExcusedBeside, complain);
    for (const run of runs) {
      const end = ends.get(run.begun.guardSeq);
      if (end === undefined || run.toMs <= end.dueMs || isExcused(run, end.dueMs)) continue;
      complain(
        `${run.begun.session} runs until ${run.toMs}, but its guard ${run.begun.guardSeq} ended at ${end.fact.event.simMs} by ${end.fact.entry.type}`,
        run.begun,
        end.fact.event,
        run.ended,
      );
    }
    complainOfOutlived(reading, runs, complain);
  },
);

function runsOf({ events }: Reading): Run[] {
  const ends = new Map<string, PipelineEvent>();
  const key = ({ node, pid }: PipelineEvent): string => `${node} ${pid}`;
  const begun: PipelineEvent[] = [];
  for (const event of events) {
    if (event.kind !== 'pipeline') continue;
    if (event.is === 'begun') begun.push(event);
    else ends.set(key(event), event);
  }
  return begun.map((event) => {
    const ended = ends.get(key(event));
    return { begun: event, ended, fromMs: event.simMs, toMs: ended?.simMs ?? Number.POSITIVE_INFINITY };
  });
}

function complainOfSecondStarts(runs: readonly Run[], complain: Complain): void {
  const first = new Map<string, Run>();
  for (const run of runs) {
    const { session } = run.begun;
    const known = first.get(session);
    if (known !== undefined) complain(`${session} is started twice`, known.begun, run.begun);
    else first.set(session, run);
  }
}

interface GuardEnd {
  readonly fact: Fact;
  /** Since when nothing may run under it any more. */
  readonly dueMs: number;
  readonly isBroken: boolean;
}

function guardEndsOf({ eras }: Reading): ReadonlyMap<number, GuardEnd> {
  const ends = new Map<number, GuardEnd>();
  for (const era of eras) {
    follow(era, (fact, before) => {
      const { entry, event, atMs } = fact;
      const lease = before.names.get(GUARD)?.lease;
      const isGuard = entry.name === GUARD || (entry.type === 'NameLeased' && namesOf(entry).includes(GUARD));
      if (!isGuard || entry.type === 'NameRenewed' || lease === null || lease === undefined) return;
      const isBroken = entry.type === 'NameBroken' && entry.reason !== 'superseded';
      const leftMs = Math.max(0, lease.expiresAtMs - atMs);
      // A break is known to the holder when its time is up; of one who is dead the keepers learn soon.
      const laterMs = isBroken ? leftMs * (1 + DRIFT) : entry.type === 'NameBroken' ? ALONE_MS : 0;
      ends.set(lease.seq, { fact, dueMs: event.simMs + laterMs, isBroken });
    });
  }
  return ends;
}

function complainOfSharedSlots(
  runs: readonly Run[],
  ends: ReadonlyMap<number, GuardEnd>,
  isExcused: (run: Run, next: Run) => boolean,
  complain: Complain,
): void {
  const inOrder = [...runs].sort((a, b) => a.fromMs - b.fromMs);
  for (const [index, next] of inOrder.entries()) {
    for (const run of inOrder.slice(0, index)) {
      if (run.begun.slot !== next.begun.slot || run.toMs <= next.fromMs) continue;
      const end = ends.get(run.begun.guardSeq);
      const isOther = run.begun.guardSeq !== next.begun.guardSeq;
      if (isOther && end?.isBroken && next.fromMs < end.dueMs) continue;
      if (isExcused(run, next)) continue;
      complain(
        `${next.begun.session} begins on slot ${next.begun.slot} while ${run.begun.session} runs there until ${run.toMs}`,
        run.begun,
        next.begun,
        run.ended,
      );
    }
  }
}

interface Orphan {
  readonly death: KeeperDeathEvent;
  /** By when its orchestrator has ended it; never when that has died first. */
  readonly dueMs: number;
}

function orphansOf({ events }: Reading, runs: readonly Run[]): ReadonlyMap<Run, Orphan> {
  const orphans = new Map<Run, Orphan>();
  for (const death of events) {
    if (death.kind !== 'keeper-death') continue;
    const run = runs.find(({ begun }) => begun.node === death.node && begun.pid === death.pid);
    if (run !== undefined) orphans.set(run, { death, dueMs: orphanDueMs(events, death) });
  }
  return orphans;
}

function orphanDueMs(events: Reading['events'], { node, simMs }: KeeperDeathEvent): number {
  let dueMs = simMs + ORPHANED_MS;
  for (const event of events) {
    if (event.simMs > dueMs) break;
    if (event.kind === 'death' && event.node === node && event.simMs >= simMs)
      return Number.POSITIVE_INFINITY;
    if (event.kind !== 'fault' || event.target !== node || !STOPS.has(event.fault)) continue;
    const againMs = event.simMs + whole(event.detail.forMs);
    if (againMs >= simMs) dueMs = Math.max(dueMs, againMs + ORPHANED_MS);
  }
  return dueMs;
}

/** What keeps an orchestrator from doing anything for a while. */
const STOPS: ReadonlySet<string> = new Set(['process.pause', 'process.block', 'clock.suspend']);

function isOrphan(orphan: Orphan | undefined, atMs: number): boolean {
  return orphan !== undefined && orphan.death.simMs <= atMs && atMs <= orphan.dueMs;
}

function pausesOf({ events }: Reading, runs: readonly Run[]): ReadonlyMap<Run, readonly KeeperPauseEvent[]> {
  const pauses = new Map<Run, KeeperPauseEvent[]>();
  for (const event of events) {
    if (event.kind !== 'keeper-pause') continue;
    const run = runs.find(({ begun }) => begun.node === event.node && begun.pid === event.pid);
    if (run !== undefined) pauses.set(run, [...(pauses.get(run) ?? []), event]);
  }
  return pauses;
}

/** Its keeper stands still, and its orchestrator was killed or stood still since; one that left by itself had the time. */
function isStray({ events }: Reading, pauses: readonly KeeperPauseEvent[], atMs: number): boolean {
  return pauses.some(({ node, simMs, forMs }) => {
    if (atMs < simMs || atMs > simMs + forMs + AWAKE_MS) return false;
    return events.some((event) => {
      if (event.simMs > atMs) return false;
      if (event.kind === 'death')
        return event.node === node && event.simMs >= simMs && !event.why.startsWith('exit code');
      if (event.kind !== 'fault' || event.target !== node || !STOPS.has(event.fault)) return false;
      return event.simMs + whole(event.detail.forMs) >= simMs;
    });
  });
}

/** Its machine sleeps at this time, or has just woken up. */
function isAsleep({ events }: Reading, { begun }: Run, atMs: number): boolean {
  return events.some((event) => {
    if (event.kind !== 'fault' || event.fault !== 'clock.suspend' || event.target !== begun.node)
      return false;
    return event.simMs <= atMs && atMs <= event.simMs + whole(event.detail.forMs) + AWAKE_MS;
  });
}

/** Its end is reported when nothing is left of it, so at that log position it is gone. */
function complainOfOutlived({ eras }: Reading, runs: readonly Run[], complain: Complain): void {
  const bySession = new Map(runs.map((run) => [run.begun.session, run]));
  for (const era of eras) {
    follow(era, (fact, before) => {
      const { entry, event } = fact;
      const session = before.sessions.get(text(entry.session_id));
      if (entry.type !== 'SessionChanged' || session === undefined) return;
      // When its leases ended first, the end of the session is no news of its pipeline.
      if (isRunning(text(entry.state) as typeof session.state) || !before.isServed(session)) return;
      const run = bySession.get(text(entry.session_id));
      if (run === undefined || run.toMs <= event.simMs || run.fromMs > event.simMs) return;
      complain(
        `${run.begun.session} is ${text(entry.state)} at seq ${fact.seq}, but its pipeline runs until ${run.toMs}`,
        run.begun,
        event,
        run.ended,
      );
    });
  }
}
