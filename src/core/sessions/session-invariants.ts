/**
 * The invariants of sessions, for tests and for `wal verify`. The end of a lease and the end of its session are two
 * entries of one batch. Between them, which only a replay of half a batch sees, the session still runs.
 */
import { sessionIdOfSeq } from '../ids.ts';
import type { Fail } from '../invariants.ts';
import type { State } from '../state.ts';
import { isTerminal } from '../task-table.ts';
import { namesOf } from './session-names.ts';
import { hasEnded, isRunning } from './session-table.ts';

export function checkSessionLeases(state: State, fail: Fail): void {
  const { sessions, names, lastAtMs } = state;
  const runners = new Map<string, string>();
  for (const session of sessions.running()) {
    const id = sessionIdOfSeq(session.seq);
    if (session.slot === null) fail(`${id} has no slot`);
    for (const name of namesOf(session)) {
      if (runners.has(name)) fail(`${id} and ${runners.get(name)} both run on ${name}`);
      runners.set(name, id);
      const row = names.find(name);
      const isHeld = row !== 0 && names.isLive(row) && names.heldBy(row, id);
      if (isHeld && names.leaseSeq.get(row) === session.leaseSeq) continue;
      const isNews = names.endedAtMs.get(row) === lastAtMs || names.acquiredAtMs.get(row) === lastAtMs;
      if (row === 0 || !isNews) fail(`${id} does not hold ${name}`);
    }
  }
}

export function checkStartTasks(state: State, fail: Fail): void {
  const { sessions, tasks, lastAtMs } = state;
  for (const session of sessions.open.values()) {
    const id = sessionIdOfSeq(session.seq);
    const row = tasks.at(id);
    const isOpen = row !== 0 && !isTerminal(tasks.stateOf(row));
    if (session.state === 'NEW' && !isOpen && !(row !== 0 && tasks.endedAtMs.get(row) === lastAtMs))
      fail(`${id} is NEW and nothing is left to start it`);
    if (session.state !== 'NEW' && isOpen && session.updatedAtMs !== lastAtMs)
      fail(`${id} is ${session.state} and would be started again`);
  }
}

export function checkSessionIndexes({ sessions, lastSeq }: State, fail: Fail): void {
  let keys = 0;
  let running = 0;
  let before = 0;
  for (const session of sessions.open.values()) {
    const id = sessionIdOfSeq(session.seq);
    if (hasEnded(session)) fail(`${id} has ended and is kept as open`);
    if (session.seq <= before || session.lastSeq > lastSeq) fail(`${id} is out of place`);
    before = session.seq;
    if (session.state !== 'STOPPING') {
      keys += 1;
      if (sessions.findByKey(session.key) !== session) fail(`${id} is not found by its key`);
    }
    if (isRunning(session)) {
      running += 1;
      if (sessions.findByLease(session.leaseSeq) !== session) fail(`${id} is not found by its lease`);
    }
  }
  let endedSeq = 0;
  for (const session of sessions.ended.values()) {
    const id = sessionIdOfSeq(session.seq);
    if (!hasEnded(session) || session.reason === null) fail(`${id} has not ended, or has no reason`);
    if (session.lastSeq < endedSeq) fail(`${id} ended before the one before it`);
    endedSeq = session.lastSeq;
  }
  if (sessions.keyCount !== keys) fail(`${sessions.keyCount} keys find ${keys} sessions`);
  if (sessions.runningCount !== running) fail(`${sessions.runningCount} leases find ${running} sessions`);
}
