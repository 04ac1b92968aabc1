/**
 * Counters of what the authority has done since it was opened: on the hot path counting is an addition into a typed
 * array. Soft state, for the metrics.
 */
import type { Answer } from '../core/answers.ts';
import type { Command, CommandType } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import { REFUSALS, type Refusal, type RefusalCode } from '../core/refusals.ts';
import { Buckets } from './buckets.ts';
import { SessionStats } from './sessions/session-stats.ts';
import { TaskStats } from './task-stats.ts';

/** CANCELLED is an answer, not a refusal: the verdict came too late, and the task continues without it. */
export type Outcome = 'ok' | 'cancelled' | RefusalCode;

/** Numbers the commands; the first three can be answered CANCELLED. */
const COMMANDS: Readonly<Record<CommandType, number>> = {
  CompleteTask: 0,
  FailTask: 1,
  ReleaseTask: 2,
  CreateTask: 3,
  LeaseTasks: 4,
  ExtendLease: 5,
  KillTask: 6,
  Heartbeat: 7,
  AcquireNames: 8,
  RenewName: 9,
  ReleaseName: 10,
  BreakName: 11,
  WipeNames: 12,
  WriteObject: 13,
  DeleteObject: 14,
  PauseQueue: 15,
  ResumeQueue: 16,
  AcceptIntent: 17,
  StopSession: 18,
  HeartbeatSession: 19,
  StartSession: 20,
  ChangeSession: 21,
  RenewSessions: 22,
  RequeueTask: 23,
  CancelTask: 24,
  CheckpointTask: 25,
  ChangeTask: 26,
  BulkTasks: 27,
  SetSchedule: 28,
  RemoveSchedule: 29,
  PauseSchedule: 30,
  ResumeSchedule: 31,
  FireSchedule: 32,
  LimitQueue: 33,
};
const VERDICTS = 3;

const OUTCOMES: readonly Outcome[] = ['ok', 'cancelled', ...(Object.keys(REFUSALS) as RefusalCode[])];
const OK = 0;
const CANCELLED = 1;
const OUTCOME_NUMBERS = Object.fromEntries(OUTCOMES.map((outcome, index) => [outcome, index])) as Readonly<
  Record<Outcome, number>
>;

const BATCH_CALLS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192];
const COMMIT_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500];
const LATE_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000];

export class Stats {
  /** Reads that were answered. */
  reads = 0;
  /** Reads that were refused because the queue was full. */
  readsRefused = 0;
  taskExpiries = 0;
  nameExpiries = 0;
  /** How long it took to verify and replay the log at the start. */
  replayMs = 0;
  compactions = 0;
  compactionFaults = 0;
  /** Calls in a batch that was made durable; a batch of expiries alone has none. */
  readonly batchCalls = new Buckets(BATCH_CALLS);
  /** From handing a batch to the log until it was durable. */
  readonly commitMs = new Buckets(COMMIT_MS);
  /** From the end of a lease until the batch that wrote it; only for ends that this authority could have written in time. */
  readonly lateMs = new Buckets(LATE_MS);
  readonly tasks = new TaskStats();
  readonly sessions = new SessionStats();
  private readonly answered = new Float64Array(Object.keys(COMMANDS).length * OUTCOMES.length);

  answer({ type }: Command, answer: Answer | Refusal): void {
    const command = COMMANDS[type];
    let outcome = OK;
    if (isRefusal(answer)) outcome = OUTCOME_NUMBERS[answer.refused];
    else if (command < VERDICTS && (answer as { outcome?: string }).outcome === 'CANCELLED')
      outcome = CANCELLED;
    this.answered[command * OUTCOMES.length + outcome]! += 1;
  }

  expiry(isTask: boolean, lateMs: number, isOurs: boolean): void {
    if (isTask) this.taskExpiries += 1;
    else this.nameExpiries += 1;
    if (isOurs) this.lateMs.note(lateMs);
  }

  /** Every command with every outcome it has had; `ok` is always among them. */
  *answers(): Generator<{ command: CommandType; outcome: Outcome; count: number }> {
    for (const [command, number] of Object.entries(COMMANDS) as [CommandType, number][]) {
      for (const [index, outcome] of OUTCOMES.entries()) {
        const count = this.answered[number * OUTCOMES.length + index]!;
        if (count > 0 || outcome === 'ok') yield { command, outcome, count };
      }
    }
  }
}
