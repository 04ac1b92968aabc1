// The log as its writer lives through it when the database answers on one connection and not on another: statements are
// answered by the test, and time is moved by hand.
import { beforeEach, describe, expect, it } from 'vitest';
import { appendBatch } from '../../../test/support/log-story.ts';
import { isSettled, ManualWorld } from '../../../test/support/manual-world.ts';
import type { SqlConnection, SqlRow } from '../../seams/database.ts';
import { LogClosedError } from '../log.ts';
import { Guard } from './guard.ts';
import { LogRows } from './log-rows.ts';
import { PostgresLog } from './postgres-log.ts';
import { ReadingConnection } from './reading-connection.ts';
import { SleepWatch } from './sleep-watch.ts';
import { tablesIn } from './tables.ts';

const HEARTBEAT_MS = 5_000;
const APPEND_MS = 10_000;
const ONE_ROW: readonly SqlRow[] = [[1]];

class ScriptedConnection {
  readonly texts: string[] = [];
  isSilent = false;
  isClosed = false;
  readonly lost = new Promise<Error>(() => undefined);

  query(text: string): Promise<readonly SqlRow[]> {
    this.texts.push(text);
    return this.isSilent ? new Promise(() => undefined) : Promise.resolve(ONE_ROW);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

let world: ManualWorld;
let writing: ScriptedConnection;
let guarding: ScriptedConnection;
let log: PostgresLog;

beforeEach(() => {
  world = new ManualWorld();
  writing = new ScriptedConnection();
  guarding = new ScriptedConnection();
  const tables = tablesIn('leasehold');
  const connections = { connect: () => new Promise<never>(() => undefined), address: '' };
  const sent = { monotonicMs: world.monotonicMs, wallMs: world.wallMs };
  const times = { ttlMs: 3 * HEARTBEAT_MS, heartbeatMs: HEARTBEAT_MS };
  const guard = new Guard(
    guarding as unknown as SqlConnection,
    { world, tables, holder: '', url: '', ...times },
    {
      token: 'token',
      epoch: 1,
      sent,
      clock: { nowMs: () => 0, note: () => undefined },
      sleep: new SleepWatch(world.clock),
    },
  );
  const reading = new ReadingConnection(connections, world.timers);
  log = new PostgresLog(
    {
      schema: 'leasehold',
      address: '',
      connections,
      threads: null,
      partBytesMax: 1_000_000,
      batchBytesMax: 1_000_000,
      segmentBytes: 1_000_000,
      compactionBytesMin: 1_000_000,
      standbyName: '',
      appendMs: APPEND_MS,
      closeMs: HEARTBEAT_MS,
      timers: world.timers,
    },
    {
      rows: new LogRows({ reading, tables, recentBytesMax: 1_000_000, cacheBytesMax: 1 }),
      guard,
      writing: writing as unknown as SqlConnection,
      guarding: guarding as unknown as SqlConnection,
      nowMs: () => 0,
      lastNumber: 0,
    },
  );
});

const isGivenBack = (): boolean => guarding.texts.at(-1)!.includes('token = NULL');

describe('a machine that sleeps', () => {
  it('writes nothing when it wakes up, because its clock stood still, and gives the guard back', async () => {
    await world.finish(appendBatch(log, 1));
    world.suspend(3_000);
    await expect(appendBatch(log, 1)).rejects.toThrow(/was suspended/);
    expect((await log.lost).message).toMatch(/was suspended/);
    await world.settle();
    expect([log.mayAnswer, isGivenBack(), log.position.lastSeq]).toEqual([false, true, 1]);
  });

  it('gives the guard back at the next heartbeat when nothing is to be written', async () => {
    world.suspend(3_000);
    await world.advance(HEARTBEAT_MS);
    expect((await log.lost).message).toMatch(/was suspended/);
    expect(isGivenBack()).toBe(true);
  });
});

describe('an append that is not answered', () => {
  it('ends the log in time, though its guard is renewed, and gives the guard back', async () => {
    await world.finish(appendBatch(log, 1));
    writing.isSilent = true;
    const appending = appendBatch(log, 1);
    const told = expect(appending).rejects.toThrow(/append was not answered in time/);
    await world.advance(APPEND_MS - 1);
    expect([await isSettled(appending), log.mayAnswer, isGivenBack()]).toEqual([false, true, false]);
    await world.advance(1);
    await told;
    expect((await log.lost).message).toMatch(/append was not answered in time/);
    expect([log.mayAnswer, isGivenBack(), writing.isClosed, guarding.isClosed]).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(log.position.lastSeq).toBe(1);
    await expect(log.append()).rejects.toThrow(LogClosedError);
  });

  it('ends the log as well when the guard cannot be given back either', async () => {
    writing.isSilent = true;
    const told = expect(appendBatch(log, 1)).rejects.toThrow(/not answered in time/);
    await world.advance(APPEND_MS - 1);
    guarding.isSilent = true;
    await world.advance(1);
    await told;
    expect([log.mayAnswer, guarding.isClosed]).toEqual([false, false]);
    await world.advance(HEARTBEAT_MS);
    expect(guarding.isClosed).toBe(true);
  });

  it('does not delay closing the log any longer than that', async () => {
    writing.isSilent = true;
    const told = expect(appendBatch(log, 1)).rejects.toThrow(LogClosedError);
    const closing = log.close();
    await world.advance(APPEND_MS + 3 * HEARTBEAT_MS);
    await told;
    expect(await isSettled(closing)).toBe(true);
  });
});
