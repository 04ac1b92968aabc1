/**
 * What the leases need from a database: an object that runs a statement, such as a `pg` Pool or Client, or an adapter
 * that opens a connection per statement. Transactions need one connection for several statements: a pool with
 * `connect`, or an object that runs a function inside a transaction.
 */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export interface PooledConnection extends Queryable {
  /** Returns it to the pool; `true` when it must not be reused. */
  release(isBroken?: boolean): void;
  /** A connection that is cut while idle emits 'error' here. Without a listener that would end the process. */
  on?(event: 'error', listener: (fault: Error) => void): unknown;
  /** Notifications of a channel that the connection listens to. Without this event the outbox relay polls. */
  on?(event: 'notification', listener: () => void): unknown;
  off?(event: 'error', listener: (fault: Error) => void): unknown;
}

export interface ConnectionPool extends Queryable {
  connect(): Promise<PooledConnection>;
}

export interface Transactional extends Queryable {
  /** Runs the function between BEGIN and COMMIT of one connection; ROLLBACK when it throws. */
  transaction<T>(work: (connection: Queryable) => Promise<T>): Promise<T>;
}

export type TransactionalDatabase = ConnectionPool | Transactional;

/** The SQLSTATE of any statement in a failed transaction. */
export const IN_FAILED_TRANSACTION = '25P02';

/**
 * Runs the work in one transaction at READ COMMITTED, whatever the database's default: a lock must see the newest
 * row.
 */
export async function inTransaction<T>(
  db: TransactionalDatabase,
  work: (connection: Queryable) => Promise<T>,
): Promise<T> {
  if ('transaction' in db) return db.transaction(work);
  const connection = await db.connect();
  connection.on?.('error', ignoreUntilNextStatement);
  let isBroken = true;
  try {
    await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    const result = await worked(connection, work);
    const { command } = (await connection.query('COMMIT')) as { readonly command?: unknown };
    isBroken = false;
    // A statement failed and its error was caught. Nothing is committed, and COMMIT reports that without failing.
    if (command === 'ROLLBACK') throw rolledBack();
    return result;
  } catch (fault) {
    // An error of the work itself leaves the connection usable after a rollback.
    if (fault instanceof WorkFailed) {
      isBroken = !fault.isRolledBack;
      throw fault.fault;
    }
    throw fault;
  } finally {
    connection.off?.('error', ignoreUntilNextStatement);
    connection.release(isBroken);
  }
}

function rolledBack(): Error {
  const says = 'A statement of the transaction had failed, so all of it was rolled back.';
  return Object.assign(new Error(says), { code: IN_FAILED_TRANSACTION });
}

/** Every later statement on a cut connection fails, so nothing has to be done earlier. */
function ignoreUntilNextStatement(): void {}

class WorkFailed extends Error {
  readonly fault: unknown;
  readonly isRolledBack: boolean;

  constructor(fault: unknown, isRolledBack: boolean) {
    super('The work inside a transaction failed.');
    this.fault = fault;
    this.isRolledBack = isRolledBack;
  }
}

async function worked<T>(connection: Queryable, work: (connection: Queryable) => Promise<T>): Promise<T> {
  try {
    return await work(connection);
  } catch (fault) {
    const isRolledBack = await connection.query('ROLLBACK').then(
      () => true,
      // A connection that cannot roll back is dead, and the server rolls back. The first fault says more.
      () => false,
    );
    throw new WorkFailed(fault, isRolledBack);
  }
}
