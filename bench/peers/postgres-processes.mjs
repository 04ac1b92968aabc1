/** The Postgres of a run as its drivers see it: its process, its size, a crash and the start after it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { resumeCluster } from '../../scripts/postgres-cluster.mjs';

const RESUME_MS = 60_000;

/** The postmaster; every other process of the cluster is its child. */
export function postmasterPid({ folder }) {
  return Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
}

/** What the work `waiting` asks of a queue in Postgres. `close` and `open` are those of its client. */
export function crashingQueue({ cluster, close, open, countText, query }) {
  return {
    // Tasks are in tables and in memory shared by all processes: resident memory says little about them.
    hasOwnMemory: false,
    diskBytes: async () =>
      Number((await query('SELECT pg_database_size(current_database()) AS bytes')).rows[0].bytes),
    async kill() {
      await close();
      process.kill(postmasterPid(cluster), 'SIGKILL');
    },
    async revive() {
      // The processes of the old postmaster end by themselves; until then a new one refuses to start.
      const untilMs = performance.now() + RESUME_MS;
      for (;;) {
        try {
          await resumeCluster(cluster);
          break;
        } catch (fault) {
          if (performance.now() > untilMs) throw fault;
          await pause(20);
        }
      }
      await open();
    },
    waitingCount: async () => Number((await query(countText)).rows[0].count),
  };
}
