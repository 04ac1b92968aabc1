/**
 * The wire speaks snake_case, the handle camelCase. Only what is leasehold's own is renamed: payloads, results, values
 * and metadata are a `Json`, and stay as they are.
 */
import { Json } from '../protocol/json.ts';

/** Names of the wire that are more than spelt differently. */
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

/** What names of the wire are called here, each made once. */
const names = new Map<string, string>(Object.entries(RENAMED));

export function camelName(name: string): string {
  let known = names.get(name);
  if (known === undefined) {
    known = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    // Names of the wire are few; what a server of another version adds must not grow without bound.
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
