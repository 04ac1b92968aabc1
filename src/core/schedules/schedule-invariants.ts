/** The invariants of schedules, for tests and for `wal verify`. */
import type { Fail } from '../invariants.ts';
import type { State } from '../state.ts';
import { isTerminal } from '../task-table.ts';

export function checkDueTimes({ schedules, lastSeq }: State, fail: Fail): void {
  let firstMs = Number.POSITIVE_INFINITY;
  let payloadBytes = 0;
  for (const schedule of schedules.all()) {
    const { name, paused, nextDueAtMs, nextFiresAtMs, lastDueAtMs } = schedule;
    if (paused && nextDueAtMs !== null) fail(`${name} is paused and due`);
    if (nextDueAtMs !== null && nextDueAtMs <= lastDueAtMs) fail(`${name} is due again at ${nextDueAtMs}`);
    if (nextDueAtMs !== null && nextFiresAtMs! < nextDueAtMs) fail(`${name} fires before it is due`);
    if (schedule.lastSeq > lastSeq || schedule.setSeq > schedule.lastSeq) fail(`${name} is out of place`);
    if (schedule.requestIds.length > 16) fail(`${name} remembers ${schedule.requestIds.length} requests`);
    firstMs = Math.min(firstMs, nextFiresAtMs ?? firstMs);
    payloadBytes += schedule.payload!.length;
  }
  if (schedules.nextFiresAtMs() !== firstMs) fail(`the first one fires at ${firstMs}`);
  if (schedules.payloadBytes !== payloadBytes) fail(`the payloads have ${payloadBytes} bytes`);
}

export function checkUnfinished({ tasks }: State, fail: Fail): void {
  const counts = new Map<string, number>();
  for (let row = 1; row <= tasks.rows.used; row++) {
    const schedule = tasks.inUse(row) && !isTerminal(tasks.stateOf(row)) ? tasks.schedule.get(row) : null;
    if (schedule !== null) counts.set(schedule, (counts.get(schedule) ?? 0) + 1);
  }
  for (const [name, count] of counts) {
    if (tasks.unfinishedOf(name) !== count) fail(`${name} has ${count} unfinished tasks`);
  }
  if (tasks.schedulesRunning !== counts.size) fail(`${counts.size} schedules have unfinished tasks`);
}
