// The three functions of migration 019, called as SQL and nothing else.
import type { Queryable } from '../../src/postgres/database.ts';

export interface LeaseRow {
  readonly lease_name: string;
  readonly lease_holder: string;
  readonly token: string;
  readonly lease_seq: bigint;
  readonly acquired_at: Date;
  readonly expires_at: Date;
}

const rowOf = (row: unknown): LeaseRow | null => {
  const found = row as Omit<LeaseRow, 'lease_seq'> & { readonly lease_seq: string };
  return found.token === null ? null : { ...found, lease_seq: BigInt(found.lease_seq) };
};

export async function acquire(
  db: Queryable,
  name: string,
  holder: string | null,
  ttlSeconds: number | null = 30,
): Promise<LeaseRow | null> {
  const text = 'SELECT * FROM fn_dot_iu_runtime_lease_acquire($1, $2, $3)';
  const { rows } = await db.query(text, [name, holder, ttlSeconds]);
  return rowOf(rows[0]);
}

/** For tests in which it must work. */
export async function acquired(
  db: Queryable,
  name: string,
  holder: string,
  ttlSeconds = 30,
): Promise<LeaseRow> {
  const lease = await acquire(db, name, holder, ttlSeconds);
  if (lease === null) throw new Error(`${holder} was not given ${name}.`);
  return lease;
}

export async function renew(
  db: Queryable,
  { lease_name, lease_holder, token }: Pick<LeaseRow, 'lease_name' | 'lease_holder' | 'token'>,
  ttlSeconds = 30,
): Promise<LeaseRow | null> {
  const text = 'SELECT * FROM fn_dot_iu_runtime_lease_renew($1, $2, $3, $4)';
  const { rows } = await db.query(text, [lease_name, lease_holder, token, ttlSeconds]);
  return rowOf(rows[0]);
}

export async function release(
  db: Queryable,
  { lease_name, lease_holder, token }: Pick<LeaseRow, 'lease_name' | 'lease_holder' | 'token'>,
): Promise<boolean> {
  const text = 'SELECT fn_dot_iu_runtime_lease_release($1, $2, $3) AS released';
  const { rows } = await db.query(text, [lease_name, lease_holder, token]);
  return (rows[0] as { readonly released: boolean }).released;
}

/** Moves the end of a lease into the past, where it would have come by itself. */
export async function expire(db: Queryable, name: string): Promise<void> {
  await db.query(
    "UPDATE dot_iu_runtime_lease SET expires_at = clock_timestamp() - interval '1 ms' WHERE lease_name = $1",
    [name],
  );
}
