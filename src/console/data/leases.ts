/**
 * The leases on the screen. Up to a thousand are fetched as one page and grouped by prefix. More are shown as pages in
 * the server's order, of which only the visible ones are polled. An ended lease stays visible for a moment, with how it
 * ended.
 */
import type { Body } from '../../browser.ts';
import { seenNow } from './clock.ts';
import { ask } from './connection.ts';
import type { Incident } from './watch.ts';

export type Lease = Body<'lease.list'>['leases'][number];

export interface ShownLease extends Lease {
  /** When `remaining_ms` was true. */
  readonly seenMs: number;
  /** How long it lasts without a renewal, as far as it can be seen. */
  readonly ttlMs: number;
  /** When its end was noticed; null while it is held. */
  readonly goneMs: number | null;
}

export interface LeasePage {
  readonly leases: readonly ShownLease[];
  readonly next: string | null;
}

export const WHOLE_MAX = 1_000;
export const PAGE_ROWS = 200;
/** How long the end of a lease stays on the screen. */
const GONE_MS = 12_000;
const USUAL_TTLS = [5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 86_400].map((seconds) => seconds * 1_000);

export async function leasePage(
  prefix: string,
  cursor: string | null,
  limit: number,
  before: ReadonlyMap<string, ShownLease>,
  signal: AbortSignal,
): Promise<LeasePage> {
  const { leases, next_cursor: next = null } = await ask(
    'lease.list',
    { limit, ...(prefix === '' ? {} : { prefix }), ...(cursor === null ? {} : { cursor }) },
    signal,
  );
  const seenMs = seenNow();
  return { leases: leases.map((lease) => shownLease(lease, before.get(lease.name), seenMs)), next };
}

export function shownLease(lease: Lease, before: ShownLease | undefined, seenMs: number): ShownLease {
  return { ...lease, seenMs, ttlMs: ttlOf(lease, before), goneMs: null };
}

/** The wire does not carry the TTL: this is exact for a lease that was never renewed, and from the first observed renewal on. */
function ttlOf(lease: Lease, before: ShownLease | undefined): number {
  if (lease.seq === lease.lease_seq) return Date.parse(lease.expires_at) - Date.parse(lease.acquired_at);
  if (before !== undefined && before.lease_seq === lease.lease_seq) {
    return before.expires_at === lease.expires_at
      ? Math.max(before.ttlMs, lease.remaining_ms)
      : Math.max(lease.remaining_ms, Math.min(before.ttlMs, lease.remaining_ms * 1.5));
  }
  return USUAL_TTLS.find((ttl) => ttl >= lease.remaining_ms) ?? lease.remaining_ms;
}

/** The new leases, plus those that have just ended. */
export function withGone(
  now: readonly ShownLease[],
  before: ReadonlyMap<string, ShownLease>,
  atMs: number,
): ShownLease[] {
  const names = new Set(now.map(({ name }) => name));
  const gone = [...before.values()]
    .filter(({ name, goneMs }) => !names.has(name) && (goneMs === null || atMs - goneMs < GONE_MS))
    .map((lease) => (lease.goneMs === null ? { ...lease, goneMs: atMs } : lease));
  return [...now, ...gone];
}

/** How a lease ended, according to the server's incidents. */
export function endOf({ name, lease_seq: leaseSeq }: Lease, incidents: readonly Incident[]): string {
  const incident = incidents.find((each) => each.name === name && each.seq > leaseSeq);
  if (incident === undefined) return 'released';
  return incident.type === 'NameBroken' ? `broken: ${incident.reason ?? ''}` : 'expired without a renewal';
}

const SEPARATOR = /[:/.]/;

/** The parts of a name before its last and before its first separator; empty for a name without one. */
function prefixesOf(name: string): readonly [long: string, short: string] {
  const last = Math.max(...[':', '/', '.'].map((mark) => name.lastIndexOf(mark)));
  if (last <= 0) return ['', ''];
  return [name.slice(0, last + 1), name.slice(0, name.search(SEPARATOR) + 1)];
}

/** The prefix under which each name is shown: the longest that it shares with another, or none. */
function sharedPrefixes(names: readonly string[]): Map<string, string> {
  const counts = new Map<string, number>();
  const count = (prefix: string): void => void counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  for (const [long, short] of names.map(prefixesOf))
    for (const prefix of new Set([long, short])) count(prefix);
  return new Map(
    names.map((name) => [name, prefixesOf(name).find((prefix) => (counts.get(prefix) ?? 0) > 1) ?? '']),
  );
}

export interface LeaseGroup {
  readonly prefix: string;
  readonly leases: readonly ShownLease[];
  /** The slots of a pool, when all names are numbered; empty for other groups. */
  readonly slots: readonly { readonly slot: number; readonly lease: ShownLease | null }[];
}

const SEATS_MAX = 64;

export function groupsOf(leases: readonly ShownLease[]): LeaseGroup[] {
  const groups = new Map<string, ShownLease[]>();
  const prefixes = sharedPrefixes(leases.map(({ name }) => name));
  for (const lease of leases) {
    const prefix = prefixes.get(lease.name) ?? '';
    const group = groups.get(prefix);
    if (group === undefined) groups.set(prefix, [lease]);
    else group.push(lease);
  }
  for (const [prefix, group] of [...groups].filter(([prefix, { length }]) => prefix !== '' && length === 1)) {
    groups.delete(prefix);
    groups.set('', [...(groups.get('') ?? []), ...group]);
  }
  return [...groups]
    .sort(([a], [b]) => (b === '' || (a !== '' && a < b) ? -1 : 1))
    .map(([prefix, group]) => {
      const sorted = group.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
      return { prefix, leases: sorted, slots: slotsOf(prefix, sorted) };
    });
}

function slotsOf(prefix: string, leases: readonly ShownLease[]): LeaseGroup['slots'] {
  const numbers = leases.map(({ name }) => name.slice(prefix.length));
  if (prefix === '' || leases.length < 2 || !numbers.every((text) => /^\d{1,3}$/.test(text))) return [];
  const last = Math.max(...numbers.map(Number));
  if (last >= SEATS_MAX) return [];
  const taken = new Map(leases.map((lease, index) => [Number(numbers[index]), lease]));
  return Array.from({ length: last + 1 }, (_, slot) => ({ slot, lease: taken.get(slot) ?? null }));
}
