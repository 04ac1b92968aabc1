/** The history of a name, from its entries: who held it when, how often it was renewed, and how each holding ended. */
import type { Body } from '../../browser.ts';

export type LogEntry = Body<'lease.history'>['entries'][number];

export type HoldingEnd =
  | 'live'
  | 'released'
  | 'expired'
  | 'broken'
  | 'superseded'
  | 'wiped'
  | 'session ended'
  | 'restored';

export interface Holding {
  readonly leaseSeq: number;
  readonly holder: string;
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly end: HoldingEnd;
  /** The reason given by the caller that broke it, or by the session that ended. */
  readonly reason: string | null;
  readonly renewals: readonly number[];
  readonly expiresMs: number;
}

/** Ends that their holder did not choose. */
export const LOSSES: ReadonlySet<HoldingEnd> = new Set([
  'expired',
  'broken',
  'superseded',
  'wiped',
  'restored',
]);

type Open = { -readonly [Field in keyof Holding]: Holding[Field] } & { renewals: number[] };

const ENDS: Readonly<Record<string, HoldingEnd>> = {
  NameReleased: 'released',
  NameExpired: 'expired',
  NameBroken: 'broken',
  NamesWiped: 'wiped',
  SessionChanged: 'session ended',
  EpochStarted: 'restored',
};

/** In the order of their grants. Entries before the first known grant are left out. */
export function holdingsOf(entries: readonly LogEntry[]): Holding[] {
  const holdings: Open[] = [];
  let open: Open | null = null;
  const finish = (end: HoldingEnd, atMs: number, reason: string | null = null): void => {
    if (open === null) return;
    open.toMs = atMs;
    open.end = end;
    open.reason = reason;
    open = null;
  };
  for (const entry of entries) {
    const fields = entry as unknown as Record<string, unknown>;
    const atMs = Date.parse(entry.at);
    if (entry.type === 'NameLeased') {
      finish('superseded', atMs);
      open = {
        leaseSeq: entry.seq,
        holder: String(fields.holder),
        fromMs: atMs,
        toMs: null,
        end: 'live',
        reason: null,
        renewals: [],
        expiresMs: Date.parse(String(fields.expires_at)),
      };
      holdings.push(open);
    } else if (entry.type === 'NameRenewed') {
      const renewed = open as Open | null;
      if (renewed === null) continue;
      renewed.renewals.push(atMs);
      renewed.expiresMs = Date.parse(String(fields.expires_at ?? fields.new_expiry_timestamp));
    } else if (entry.type in ENDS) {
      finish(ENDS[entry.type]!, atMs, typeof fields.reason === 'string' ? fields.reason : null);
    }
  }
  return holdings;
}

/** The longest and the typical gap between two signs of life of a holding. */
export function gapsOf({
  fromMs,
  renewals,
}: Holding): { readonly longestMs: number; readonly meanMs: number } | null {
  if (renewals.length === 0) return null;
  const signs = [fromMs, ...renewals];
  const gaps = signs.slice(1).map((sign, index) => sign - signs[index]!);
  return { longestMs: Math.max(...gaps), meanMs: gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length };
}
