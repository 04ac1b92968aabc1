/**
 * Lists the standbys through the database: a standby puts its URL into the name of its reading connection
 * (`application_name`), and the leader lists the connections with such names. No table is needed: an entry disappears
 * with its connection, and the time of its last statement is its last sign of life, because a standby polls the guard
 * continuously. The database keeps at most 63 bytes of a name, so a longer URL is cut.
 */
import type { Reading } from '../../seams/database.ts';
import type { StandbyServer } from '../log.ts';

const NAME_BYTES_MAX = 63;

const prefixOf = (schema: string): string => `${schema} standby `;

export function standbyName(schema: string, url: string): string {
  return Buffer.from(prefixOf(schema) + url)
    .subarray(0, NAME_BYTES_MAX)
    .toString('utf8');
}

/** The longest silent last. Lingering connections that a standby has replaced are not counted twice. */
export async function listStandbys(
  reading: Pick<Reading, 'query'>,
  schema: string,
  ownName: string,
): Promise<readonly StandbyServer[]> {
  const prefix = prefixOf(schema);
  const rows = await reading.query(
    `SELECT application_name, min(extract(epoch FROM clock_timestamp() - state_change) * 1000)::bigint AS silent
     FROM pg_catalog.pg_stat_activity
     WHERE datname = current_database() AND left(application_name, length($1)) = $1
       AND application_name <> $2
     GROUP BY application_name ORDER BY silent`,
    [prefix, ownName],
  );
  return rows.map(([name, silentMs]) => ({
    url: String(name).slice(prefix.length),
    silentMs: Math.max(0, Number(silentMs)),
  }));
}
