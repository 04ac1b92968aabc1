/**
 * Converts field names from the wire (snake_case) to the handle (camelCase). Payloads, results, values and metadata are
 * a `Json` and are not touched.
 */
import { Json } from '../protocol/json.ts';

/** Wire names that the handle does not merely spell in camelCase. */
const RENAMED = {
  expiry_timestamp: 'expiresAt',
  new_expiry_timestamp: 'expiresAt',
  holder_id: 'holder',
  last_heartbeat: 'lastHeartbeatAt',
  profileID: 'profileId',
  recordingID: 'recordingId',
} as const;

type CamelName<Name> = Name extends keyof typeof RENAMED
  ? (typeof RENAMED)[Name]
  : Name extends `${infer Head}_${infer Tail}`
    ? `${Head}${Capitalize<CamelName<Tail> & string>}`
    : Name;

/** A body of the wire as the handle shows it. */
export type CamelCase<T> = unknown extends T
  ? T
  : T extends Json | string | number | boolean | null | undefined
    ? T
    : T extends readonly (infer Item)[]
      ? readonly CamelCase<Item>[]
      : { readonly [Name in keyof T as CamelName<Name>]: CamelCase<T[Name]> };

/** A cache of converted names. */
const names = new Map<string, string>(Object.entries(RENAMED));

export function camelName(name: string): string {
  let known = names.get(name);
  if (known === undefined) {
    known = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    // Bounded: wire names are few, but a server of another version may send others.
    if (names.size < 1_000) names.set(name, known);
  }
  return known;
}

export function camelCased<T>(value: T): CamelCase<T>;
export function camelCased(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Json) return value;
  if (Array.isArray(value)) return value.map((item) => camelCased(item));
  const shown: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) shown[camelName(name)] = camelCased(item);
  return shown;
}
