// A log in the database of a test: engines on it, and what the world does to them.
import {
  type PostgresEngine,
  type PostgresEngineOptions,
  postgresEngine,
} from '../../src/engines/postgres/postgres-engine.ts';
import { pgConnections } from '../../src/world/pg-connections.ts';
import { systemClock, systemTimers } from '../../src/world/system-clock.ts';
import { systemIds } from '../../src/world/system-ids.ts';
import type { TestDatabase } from './postgres.ts';

export const REAL_WORLD = { clock: systemClock, timers: systemTimers, newToken: systemIds.token };

/** An engine as a process of its own would have it. The cluster of the tests runs without fsync. */
export function engineOn(db: TestDatabase, options: Partial<PostgresEngineOptions> = {}): PostgresEngine {
  return postgresEngine({
    connections: pgConnections(db.url),
    world: REAL_WORLD,
    holder: 'a test',
    allowFsyncOff: true,
    ...options,
  });
}

/** Takes the guard away from its holder, who finds out with its next renewal: the next one need not wait for it. */
export async function freeGuard(db: TestDatabase): Promise<void> {
  await db.pool.query('UPDATE leasehold.leasehold_guard SET token = NULL');
}

/** Cuts every connection of an engine, in the middle of whatever it is doing. */
export async function cutConnections(db: TestDatabase): Promise<void> {
  await db.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name LIKE 'leasehold%' AND datname = current_database()`,
  );
}

/** Asks again and again, as fast as the event loop turns, until it is so. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const from = performance.now(); performance.now() - from < 20_000; ) {
    if (await isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('It never came to be so.');
}

/** Waits until a statement of an engine that contains the text waits for a lock. */
export function untilBlocked(db: TestDatabase, text: string): Promise<void> {
  return until(async () => {
    const found = await db.value(
      `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leasehold%'
         AND datname = current_database() AND wait_event_type = 'Lock' AND position($1 IN query) > 0`,
      [text],
    );
    return Number(found) > 0;
  });
}
