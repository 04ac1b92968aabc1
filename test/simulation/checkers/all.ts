// Every checker there is. `judge` reads a history once and asks them all.
import type { History } from '../history.ts';
import { aborts } from './aborts.ts';
import { askedFor } from './asked-for.ts';
import { bulk } from './bulk.ts';
import type { Checker, Violation } from './checker.ts';
import { deposed } from './deposed.ts';
import { durable } from './durable.ts';
import { exclusive } from './exclusive.ts';
import { fencedWrites } from './fenced-writes.ts';
import { followed } from './followed.ts';
import { heard } from './heard.ts';
import { inTime } from './in-time.ts';
import { limitedLines } from './limited-lines.ts';
import { limits } from './limits.ts';
import { lineOrder } from './line-order.ts';
import { linearisable } from './linearisable.ts';
import { liveness } from './liveness.ts';
import { lostGuards } from './lost-guards.ts';
import { noBugs } from './no-bugs.ts';
import { numbersGrow } from './numbers-grow.ts';
import { oneHolder } from './one-holder.ts';
import { oneLeader } from './one-leader.ts';
import { pipelines } from './pipelines.ts';
import { read } from './reading.ts';
import { realTime } from './real-time.ts';
import { replays } from './replays.ts';
import { retention } from './retention.ts';
import { schedules } from './schedules.ts';
import { sessions } from './sessions.ts';
import { slots } from './slots.ts';
import { taskRules } from './task-rules.ts';

export const CHECKERS: readonly Checker[] = [
  linearisable,
  oneHolder,
  numbersGrow,
  fencedWrites,
  durable,
  askedFor,
  followed,
  heard,
  slots,
  replays,
  lineOrder,
  aborts,
  lostGuards,
  exclusive,
  inTime,
  taskRules,
  bulk,
  retention,
  limits,
  limitedLines,
  schedules,
  sessions,
  pipelines,
  deposed,
  oneLeader,
  realTime,
  liveness,
  noBugs,
];

export function judge(history: Pick<History, 'events'>): Violation[] {
  const reading = read(history);
  return CHECKERS.flatMap((checker) => checker.check(reading));
}
