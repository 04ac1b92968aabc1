/**
 * Runs governed commands behind gates (seed 001, finding F-960x-1): opens the gates in `dot_config`, applies the
 * commands, and closes the gates, all inside one lease.
 *
 *   check the commands → acquire → open the gates → apply, one by one → close the gates, in any case → release
 *
 * Holding a lease is not enough: a run that was paused past its expiry does not know it. So every write to a gate and
 * every command has its own transaction, which first locks its own unexpired lease row FOR SHARE. Without the row it
 * is refused and nothing is applied. The lock keeps the lease from changing hands, so a late run can neither close
 * its successor's gates nor apply anything behind them. The lock blocks renewals too, so the lease is renewed before
 * each of these transactions. The database ends a transaction that outlives the lease; otherwise a process paused
 * inside a command would keep the lock.
 */
import { inTransaction, type Queryable, type TransactionalDatabase } from './database.ts';
import { isTableMissing, isTransient, OperatorRuntimeError, RuntimeLeaseError } from './error.ts';
import { type LeaseWorld, pause } from './lease-world.ts';
import { lostError, RuntimeLease, type RuntimeLeaseOptions, runUnder } from './runtime-lease.ts';

/** A command may do anything on the given connection, but must not begin or end its transaction. */
export type GovernedCommand = (
  connection: Queryable,
  input: unknown,
  lease: RuntimeLease,
) => Promise<unknown>;

export interface OperatorRuntimeOptions {
  readonly db: TransactionalDatabase;
  readonly lease: RuntimeLeaseOptions;
  /** Keys of `dot_config(key, value)`: "true" is open, "false" is closed. */
  readonly gates: readonly string[];
  /** All registered commands, by name. */
  readonly commands: Readonly<Record<string, GovernedCommand>>;
}

export interface CommandCall {
  readonly command: string;
  readonly input?: unknown;
}

const GOVERNED = /^dot_iu_[a-z0-9]+(_[a-z0-9]+)*$/;
const CLOSE_AGAIN_MS = 100;
/** The largest timeout in Postgres, 24.8 days. A lease may last longer. */
const TIMEOUT_MAX_MS = 2_147_483_647;

/**
 * Locks the row and limits the rest of the transaction to the remaining time. The clock is read after the row is
 * locked: in one query level with the lock it would be read before the wait.
 *
 * `transaction_timeout` (Postgres 17) ends the transaction in every case. Before 17 the other two end it when it is
 * idle or in one statement for too long. A shorter limit of the session stays. It is set to zero first: Postgres
 * starts the timer of `transaction_timeout` only when none is set.
 */
const LOCK_OWN_LEASE = `
  WITH own AS MATERIALIZED (
    SELECT expires_at FROM dot_iu_runtime_lease
    WHERE lease_name = $1 AND lease_holder = $2 AND token = $3 FOR SHARE
  ), remaining AS MATERIALIZED (
    SELECT least(ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000), ${TIMEOUT_MAX_MS}) AS ms FROM own
  )
  SELECT CASE
      WHEN value::interval BETWEEN '1 ms' AND make_interval(secs => ms::float8 / 1000) THEN value
      WHEN set_config(name, '0', true) IS NOT NULL THEN set_config(name, ms::text, true)
    END
  FROM remaining,
    unnest(ARRAY['transaction_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout']) AS name,
    current_setting(name, true) AS value
  WHERE ms > 0 AND value IS NOT NULL`;

/** Also records the open gate and its lease, for a rollback of the migration. */
const OPEN_GATE = `
  WITH opened AS (UPDATE dot_config SET value = 'true' WHERE key = $1 RETURNING key)
  INSERT INTO dot_iu_runtime_lease_gate (config, gate, lease_name, token)
    SELECT 'dot_config'::regclass, key, $2, $3 FROM opened
    ON CONFLICT (config, gate) DO UPDATE SET lease_name = EXCLUDED.lease_name, token = EXCLUDED.token
    RETURNING gate`;
const CLOSE_GATE = `
  WITH closed AS (DELETE FROM dot_iu_runtime_lease_gate WHERE config = 'dot_config'::regclass AND gate = $1)
  UPDATE dot_config SET value = 'false' WHERE key = $1 RETURNING key`;

export class OperatorRuntime {
  private readonly options: OperatorRuntimeOptions;
  private readonly world: LeaseWorld;
  private readonly commands: ReadonlyMap<string, GovernedCommand>;

  constructor(options: OperatorRuntimeOptions, world: LeaseWorld) {
    assertTransactional(options.db);
    for (const name of Object.keys(options.commands)) assertGoverned(name);
    this.options = options;
    this.world = world;
    this.commands = new Map(Object.entries(options.commands));
  }

  /**
   * Applies the commands in order and returns their results. Each is committed separately; the first failure ends the
   * run. Without commands it opens and closes the gates, which also closes gates that a dead run left open.
   */
  async run(calls: readonly CommandCall[]): Promise<readonly unknown[]> {
    const plan = calls.map((call) => ({ ...call, apply: this.registered(call.command) }));
    const { db, lease: options } = this.options;
    return runUnder(RuntimeLease.acquire(db, options, this.world), (lease) =>
      this.behindGates(lease, async () => {
        const results: unknown[] = [];
        for (const { apply, input } of plan) {
          lease.assertHeld();
          results.push(await this.governed(lease, (connection) => apply(connection, input, lease)));
        }
        return results;
      }),
    );
  }

  private registered(name: string): GovernedCommand {
    assertGoverned(name);
    const command = this.commands.get(name);
    if (command === undefined) {
      throw new OperatorRuntimeError('COMMAND_NOT_GOVERNED', `${name} is not a registered command.`);
    }
    return command;
  }

  private async behindGates<T>(lease: RuntimeLease, work: () => Promise<T>): Promise<T> {
    let outcome: { readonly result: T } | { readonly fault: unknown };
    try {
      await this.setGates(lease, (gate) => [OPEN_GATE, [gate, lease.name, lease.token]]);
      outcome = { result: await work() };
    } catch (fault) {
      outcome = { fault };
    }
    await this.closeGates(lease, 'fault' in outcome ? outcome.fault : undefined);
    if ('fault' in outcome) throw outcome.fault;
    return outcome.result;
  }

  /** Retried while the lease is held: a restarting server must not leave the gates open. */
  private async closeGates(lease: RuntimeLease, fault: unknown): Promise<void> {
    for (;;) {
      try {
        await this.setGates(lease, (gate) => [CLOSE_GATE, [gate]]);
        return;
      } catch (cause) {
        const isVerdict = cause instanceof RuntimeLeaseError || cause instanceof OperatorRuntimeError;
        if (isVerdict || !isTransient(cause) || !lease.isHeld) throw notClosed(cause, fault);
      }
      await pause(this.world, CLOSE_AGAIN_MS);
    }
  }

  private async setGates(
    lease: RuntimeLease,
    statement: (gate: string) => readonly [text: string, values: unknown[]],
  ): Promise<void> {
    await this.governed(lease, async (connection) => {
      for (const gate of this.options.gates) {
        const { rows } = await connection.query(...statement(gate));
        if (rows.length === 0) {
          throw new OperatorRuntimeError('GATE_NOT_FOUND', `dot_config has no gate "${gate}".`);
        }
      }
    });
  }

  /** One transaction, under the lock of our own lease row. */
  private async governed<T>(lease: RuntimeLease, work: (connection: Queryable) => Promise<T>): Promise<T> {
    await lease.freshen();
    return inTransaction(this.options.db, async (connection) => {
      const { rows } = await connection.query(LOCK_OWN_LEASE, [lease.name, lease.holder, lease.token]);
      if (rows.length === 0) {
        throw lostError(lease, 'superseded', 'is over; nothing was applied');
      }
      return work(connection);
    });
  }
}

/** A `pg` Client also has `connect`, but only one connection, which renewals and commands cannot share. */
function assertTransactional(db: TransactionalDatabase): void {
  if ('transaction' in db || ('connect' in db && !('processID' in db))) return;
  throw new TypeError('The db of an OperatorRuntime must be a pool, or have transaction(work).');
}

function assertGoverned(name: string): void {
  if (GOVERNED.test(name)) return;
  throw new OperatorRuntimeError(
    'COMMAND_NOT_GOVERNED',
    `${name} is not the name of a governed command: they begin with dot_iu_, in lower case.`,
  );
}

/** The error for gates that could not be closed. */
function notClosed(cause: unknown, fault: unknown): unknown {
  // A missing gate was not opened. Without the lease table no gate is open: its rollback closes them.
  if (cause instanceof OperatorRuntimeError || isTableMissing(cause)) return fault ?? cause;
  if (cause instanceof RuntimeLeaseError) {
    const says = `${cause.message.replace(/; nothing was applied\.$/, '')}, so its gates were left to the next run.`;
    return new RuntimeLeaseError('LEASE_LOST', says, { cause: fault ?? cause, details: cause.details });
  }
  const says = cause instanceof Error ? cause.message : String(cause);
  return new OperatorRuntimeError(
    'GATES_NOT_CLOSED',
    `The gates were not closed (${says}); the next run under this lease closes them.`,
    { cause, fault },
  );
}
