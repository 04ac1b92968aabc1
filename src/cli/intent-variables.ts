/**
 * How `up` and `serve` take intents, from their environment. Our own names are read first; the names in the second
 * column are those of older installations and mean the same.
 */
import type { Logger } from '../server/logger.ts';
import type { ServeOptions } from '../server/serve.ts';
import { wrongUsage } from './failure.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const SECRET = ['LEASEHOLD_IDEM_SECRET', 'XG2G_IDEM_SECRET'] as const;
const PREVIOUS_SECRET = ['LEASEHOLD_IDEM_SECRET_PREVIOUS', 'XG2G_IDEM_SECRET_PREVIOUS'] as const;
const API_LEASES = ['LEASEHOLD_API_LEASES', 'XG2G_V3_API_LEASES'] as const;

/** A shorter secret can be found by trying, from the keys that are in the log. */
const SECRET_BYTES_MIN = 16;

const ON = ['1', 'true', 'on'];
const OFF = ['0', 'false', 'off'];

export function readIntents(env: Environment): NonNullable<ServeOptions['intents']> {
  const secret = firstSet(env, SECRET);
  const previousSecret = firstSet(env, PREVIOUS_SECRET);
  const apiLeases = firstSet(env, API_LEASES);
  return {
    ...(secret === null ? {} : { secret: secret.value }),
    ...(previousSecret === null ? {} : { previousSecret: previousSecret.value }),
    takeLeases: apiLeases !== null && switchOf(apiLeases.name, apiLeases.value),
  };
}

/** A misspelt value must not silently mean the opposite. */
export function switchOf(name: string, value: string): boolean {
  const word = value.toLowerCase();
  if (ON.includes(word)) return true;
  if (OFF.includes(word)) return false;
  throw wrongUsage(`${name} is ${JSON.stringify(value)}; it may be 1, true or on, or 0, false or off.`);
}

export function warnOfShortSecrets(env: Environment, logger: Pick<Logger, 'warn'>): void {
  for (const names of [SECRET, PREVIOUS_SECRET]) {
    const secret = firstSet(env, names);
    if (secret !== null && Buffer.byteLength(secret.value) < SECRET_BYTES_MIN) {
      logger.warn({}, `${secret.name} has less than ${SECRET_BYTES_MIN} bytes and could be guessed`);
    }
  }
}

/** An empty variable counts as not set. */
function firstSet(env: Environment, names: readonly string[]): { name: string; value: string } | null {
  for (const name of names) {
    const value = env[name];
    if (value) return { name, value };
  }
  return null;
}
