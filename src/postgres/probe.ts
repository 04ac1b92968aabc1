/**
 * T1 to T7 of seed 001 against the installed functions, inside BEGIN … ROLLBACK, so that nothing stays. T2 proves
 * that two instances cannot both hold the lease.
 */
import type { Queryable } from './database.ts';

export interface ProbeTest {
  readonly name: string;
  readonly says: string;
  readonly passed: boolean;
}

export interface ProbeReport {
  readonly passed: number;
  readonly total: number;
  readonly tests: readonly ProbeTest[];
}

const A = 'holder A';
const B = 'holder B';
const OTHER_TOKEN = '00000000-0000-4000-8000-000000000000';
/** Long enough for the rest of a slow probe; and one that has expired two statements later. */
const TTL_SECONDS = 600;
const SHORT_SECONDS = 0.01;

/** `connection` must be a single connection, not a pool: the probe is one transaction. */
export async function probe(connection: Queryable): Promise<ProbeReport> {
  await connection.query('BEGIN');
  try {
    const tests = await ask(connection);
    return { passed: tests.filter(({ passed }) => passed).length, total: tests.length, tests };
  } finally {
    await connection.query('ROLLBACK');
  }
}

async function ask(connection: Queryable): Promise<readonly ProbeTest[]> {
  const value = async (text: string, values: unknown[]): Promise<unknown> => {
    const { rows } = await connection.query(`SELECT ${text} AS value`, values);
    return (rows[0] as { readonly value: unknown }).value;
  };
  // Each probe has a name of its own: it would find the lease of a concurrent one held.
  const name = await value("'leasehold:probe:' || gen_random_uuid()", []);
  const acquire = (holder: string, ttlSeconds = TTL_SECONDS): Promise<unknown> =>
    value('(fn_dot_iu_runtime_lease_acquire($1, $2, $3)).token::text', [name, holder, ttlSeconds]);
  const release = (holder: string, token: unknown): Promise<unknown> =>
    value('fn_dot_iu_runtime_lease_release($1, $2, $3)', [name, holder, token]);
  const leases = (): Promise<unknown> =>
    value('(SELECT count(*)::int FROM dot_iu_runtime_lease WHERE lease_name = $1)', [name]);

  const tests: ProbeTest[] = [];
  const check = (says: string, passed: boolean): void => {
    tests.push({ name: `T${tests.length + 1}`, says, passed });
  };
  check('holder A acquires: a token', (await acquire(A)) !== null);
  check('holder B acquires the same lease: NULL, A holds it', (await acquire(B)) === null);
  const token = await acquire(A);
  check('holder A acquires again: a token', token !== null);
  check('release with the wrong token: false', (await release(A, OTHER_TOKEN)) === false);
  const isReleased = (await release(A, token)) === true;
  check('release with holder and token: true, and the row is gone', isReleased && (await leases()) === 0);
  check('after the release B acquires: a token', (await acquire(B, SHORT_SECONDS)) !== null);
  await connection.query('SELECT pg_sleep($1)', [SHORT_SECONDS * 2]);
  check('an expired lease is taken by a new holder: a token', (await acquire(A)) !== null);
  return tests;
}
