// A small disk for one table: a tablespace on a few megabytes of memory. Only root can mount one; for other users a
// trigger raises the same error as Postgres.
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { ownCluster, type TestDatabase } from './postgres.ts';

const NOBODY = '65534';

export interface TinyDisk {
  /** There is room again. */
  grow(): Promise<void>;
  dispose(): Promise<void>;
}

export async function moveToTinyDisk(db: TestDatabase, table: string, bytes: number): Promise<TinyDisk> {
  return process.getuid?.() === 0 ? mounted(db, table, bytes) : pretended(db, table, bytes);
}

async function mounted(db: TestDatabase, table: string, bytes: number): Promise<TinyDisk> {
  const folder = join(ownCluster().folder, 'tiny');
  mkdirSync(folder);
  const options = `size=${bytes},mode=0700,uid=${NOBODY},gid=${NOBODY}`;
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  chownSync(folder, Number(NOBODY), Number(NOBODY));
  await db.pool.query(`CREATE TABLESPACE tiny LOCATION '${folder}'`);
  await db.pool.query(`ALTER TABLE ${table} SET TABLESPACE tiny`);
  return {
    async grow() {
      execFileSync('mount', ['-o', `remount,size=${bytes * 16}`, folder]);
    },
    async dispose() {
      await db.pool.query(`ALTER TABLE ${table} SET TABLESPACE pg_default`);
      await db.pool.query('CHECKPOINT');
      await db.pool.query('DROP TABLESPACE tiny');
      // A process of the database may still have a file of it open; then it goes when that is closed.
      execFileSync('umount', ['--lazy', folder]);
      rmdirSync(folder);
    },
  };
}

async function pretended(db: TestDatabase, table: string, bytes: number): Promise<TinyDisk> {
  await db.pool.query(`CREATE FUNCTION refuse_when_full() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF pg_total_relation_size('${table}') > ${bytes} THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
      END IF;
      RETURN NEW;
    END $$`);
  await db.pool.query(
    `CREATE TRIGGER full_disk BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_when_full()`,
  );
  const remove = async (): Promise<void> => {
    await db.pool.query('DROP FUNCTION IF EXISTS refuse_when_full() CASCADE');
  };
  return { grow: remove, dispose: remove };
}
