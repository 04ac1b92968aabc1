// Fencing numbers rise in the order of holding. The order is written down by a trigger while the row is held, so no
// grant is missed. A race that finds nothing proves nothing: the same race catches the obvious function, which draws
// the number inside its INSERT, before it has won the row.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/postgres/migration.ts';
import { TestDatabase } from '../support/postgres.ts';

const LOOPS = 32;
const GRANTS = 40;
/** Only a race with starvation comes near it. */
const TURNS_MAX = 1_000_000;

const OBVIOUS = `
  CREATE FUNCTION obvious_acquire(name text, holder text, ttl_seconds double precision)
  RETURNS SETOF dot_iu_runtime_lease LANGUAGE sql AS $$
    INSERT INTO dot_iu_runtime_lease AS held (lease_name, lease_holder, token, lease_seq, acquired_at, expires_at)
    VALUES (
      name, holder, gen_random_uuid(), nextval('dot_iu_runtime_lease_seq'),
      clock_timestamp(), clock_timestamp() + make_interval(secs => ttl_seconds)
    )
    ON CONFLICT (lease_name) DO UPDATE SET lease_holder = EXCLUDED.lease_holder, token = EXCLUDED.token,
      lease_seq = EXCLUDED.lease_seq, acquired_at = EXCLUDED.acquired_at, expires_at = EXCLUDED.expires_at
      WHERE held.expires_at < clock_timestamp() OR held.lease_holder = EXCLUDED.lease_holder
    RETURNING held.*
  $$`;

const AUDIT = `
  CREATE TABLE grants (at timestamptz NOT NULL, lease_seq bigint NOT NULL);
  CREATE FUNCTION note_grant() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'INSERT' OR NEW.lease_seq <> OLD.lease_seq THEN
      INSERT INTO grants VALUES (clock_timestamp(), NEW.lease_seq);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_grant AFTER INSERT OR UPDATE ON dot_iu_runtime_lease
    FOR EACH ROW WHEN (NEW.lease_seq > 0) EXECUTE FUNCTION note_grant()`;

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
  await migrate(db.pool);
  await db.pool.query(OBVIOUS);
  await db.pool.query(AUDIT);
});
afterAll(() => db.drop());

/** Runs on the server, one transaction per statement: round trips would leave it idle, without collisions. */
const loop = (acquire: string, holder: string): string => `DO $$
  DECLARE
    own uuid;
    granted int := 0;
  BEGIN
    FOR turn IN 1 .. ${TURNS_MAX} LOOP
      EXIT WHEN granted = ${GRANTS};
      own := (SELECT token FROM ${acquire}('race', '${holder}', 30));
      COMMIT;
      IF own IS NOT NULL THEN
        granted := granted + 1;
        PERFORM fn_dot_iu_runtime_lease_release('race', '${holder}', own);
        COMMIT;
      END IF;
    END LOOP;
  END $$`;

/** All loops at once: acquire and, when it was granted, release. Some share their holder, most do not. */
async function race(acquire: string): Promise<{ readonly grants: number; readonly falls: number }> {
  const pool = db.newPool(LOOPS);
  try {
    await pool.query('TRUNCATE grants');
    const holders = Array.from({ length: LOOPS }, (_, index) => `holder-${index % 24}`);
    await Promise.all(holders.map((holder) => pool.query(loop(acquire, holder))));
    const { rows } = await pool.query(`
      SELECT count(*)::int AS grants, (count(*) FILTER (WHERE lease_seq <= before))::int AS falls
      FROM (SELECT lease_seq, lag(lease_seq) OVER (ORDER BY at) AS before FROM grants) AS steps`);
    return rows[0];
  } finally {
    await pool.end();
  }
}

describe('32 loops that acquire and release', () => {
  it('catch a function that draws the number before it has won the row', async () => {
    const { falls } = await race('obvious_acquire');
    expect(falls).toBeGreaterThan(0);
  });

  it('see the numbers of migration 019 rise in the order of holding, and leave no row behind', async () => {
    const { grants, falls } = await race('fn_dot_iu_runtime_lease_acquire');
    expect(grants).toBe(LOOPS * GRANTS);
    expect(falls).toBe(0);
    expect(await db.leases()).toBe(0);
  });
});
