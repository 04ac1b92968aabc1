/** A lease as a row of a Postgres table, the way many write it by hand: insert, or take over an expired row; poll if held. */
import { postmasterPid } from '../postgres-processes.mjs';

const CONNECTIONS_MAX = 64;
const TTL = "interval '30 seconds'";
const ACQUIRE = `INSERT INTO lease (name, owner, expires_at) VALUES ($1, $2, now() + ${TTL})
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, fence = lease.fence + 1, expires_at = excluded.expires_at
  WHERE lease.expires_at < now() RETURNING fence`;
const RELEASE = 'DELETE FROM lease WHERE name = $1 AND owner = $2';
const RENEW = `UPDATE lease SET expires_at = now() + ${TTL} WHERE name = $1 AND owner = $2 AND expires_at > now()`;

export const peer = {
  name: 'Postgres row',
  kinds: ['lock'],
  needs: { packages: ['pg'], postgres: true },
  variants: [{ name: 'insert, delete', durable: 'yes' }],
  async start({ width, database, cluster }) {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({ connectionString: database, max: Math.min(width, CONNECTIONS_MAX) });
    await pool.query(
      'CREATE TABLE lease (name text PRIMARY KEY, owner text NOT NULL, fence bigint NOT NULL DEFAULT 1, expires_at timestamptz NOT NULL)',
    );
    const run = async (name, text, values) => (await pool.query({ name, text, values })).rowCount === 1;
    const acquire = async (name, { lane }) => {
      const owner = `owner-${lane}`;
      while (!(await run('acquire', ACQUIRE, [name, owner]))) {
        await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 4));
      }
      return [name, owner];
    };
    return {
      pids: [postmasterPid(cluster)],
      stop: () => pool.end(),
      acquire,
      release: (held) => run('release', RELEASE, held),
      async renewable(name, lane) {
        const held = await acquire(name, { lane });
        return async () => {
          if (!(await run('renew', RENEW, held))) throw new Error('A renewal was refused.');
        };
      },
    };
  },
};
