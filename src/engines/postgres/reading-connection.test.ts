// The connection that only reads, over a database that answers when the test says so, and time moved by hand.
import { beforeEach, describe, expect, it } from 'vitest';
import { isSettled, ManualWorld } from '../../../test/support/manual-world.ts';
import type { ConnectOptions, SqlConnection, SqlRow } from '../../seams/database.ts';
import { LogOutOfReachError } from '../log.ts';
import { ReadingConnection } from './reading-connection.ts';

const LIMIT_MS = 10_000;

class ScriptedConnection {
  readonly answers: ((rows: readonly SqlRow[]) => void)[] = [];
  isClosed = false;
  readonly lost = new Promise<Error>(() => undefined);

  query(): Promise<readonly SqlRow[]> {
    return new Promise((resolve) => this.answers.push(resolve));
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

let world: ManualWorld;
let made: ScriptedConnection[];
let asked: (ConnectOptions | undefined)[];
let reading: ReadingConnection;

beforeEach(() => {
  world = new ManualWorld();
  made = [];
  asked = [];
  const connect = async (options?: ConnectOptions): Promise<SqlConnection> => {
    asked.push(options);
    made.push(new ScriptedConnection());
    return made.at(-1) as unknown as SqlConnection;
  };
  reading = new ReadingConnection({ connect, address: '' }, world.timers);
});

describe('a connection that only reads', () => {
  it('is given up when a statement is not answered in time, and the next goes over another', async () => {
    const first = reading.query('SELECT 1');
    const told = expect(first).rejects.toThrow(LogOutOfReachError);
    await world.advance(LIMIT_MS - 1);
    expect([made.length, made[0]!.isClosed, await isSettled(first)]).toEqual([1, false, false]);
    await world.advance(1);
    await told;
    expect(made[0]!.isClosed).toBe(true);
    const second = reading.query('SELECT 2');
    await world.settle();
    made[1]!.answers[0]!([[2]]);
    expect(await second).toEqual([[2]]);
  });

  it('has the limit in the database as well, which would otherwise continue without a caller', async () => {
    const answered = reading.query('SELECT 1');
    await world.settle();
    expect(asked).toEqual([{ statementMsMax: LIMIT_MS }]);
    made[0]!.answers[0]!([]);
    await answered;
  });

  it('is kept while statements that wait for their turn are answered one after the other', async () => {
    const all = Promise.all([1, 2, 3].map(() => reading.query('SELECT 1')));
    for (let statement = 0; statement < 3; statement++) {
      await world.advance(LIMIT_MS - 1);
      made[0]!.answers[statement]!([[statement]]);
    }
    expect(await world.finish(all)).toEqual([[[0]], [[1]], [[2]]]);
    await world.advance(10 * LIMIT_MS);
    expect([made.length, made[0]!.isClosed]).toEqual([1, false]);
  });

  it('has no more time because of more that is asked of it, or of late words on one that was given up', async () => {
    const first = expect(reading.query('SELECT 1')).rejects.toThrow(LogOutOfReachError);
    await world.advance(LIMIT_MS / 2);
    const second = expect(reading.query('SELECT 2')).rejects.toThrow(LogOutOfReachError);
    await world.advance(LIMIT_MS / 2);
    await Promise.all([first, second]);
    const third = expect(reading.query('SELECT 3')).rejects.toThrow(LogOutOfReachError);
    await world.advance(LIMIT_MS / 2);
    for (const answer of made[0]!.answers) answer([]);
    await world.advance(LIMIT_MS / 2);
    await third;
    expect(made.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });
});
