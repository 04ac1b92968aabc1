/**
 * The entries about one task or one name, up to the displayed moment. The server scans the log for them, so the console
 * searches only the last entries, and again only when the subject has changed. While the time machine moves, one answer
 * serves all moments that it covers.
 */
import type { Body } from '../../browser.ts';
import { ask, isNotFound } from './connection.ts';
import { moment } from './route.ts';
import { watch } from './watch.ts';

export const HISTORY_ENTRIES = 20_000;
const ENTRIES_MAX = 5_000;

type Page = Body<'lease.history'>;
type Place = { readonly from: number; readonly limit: number; readonly cursor?: string };
type Asking = (place: Place) => Promise<Page>;

export interface RecentHistory {
  readonly entries: Page['entries'];
  /** Whether nothing earlier was left out. */
  readonly isWhole: boolean;
}

interface Found extends RecentHistory {
  readonly subject: string;
  /** The positions that it covers. */
  readonly from: number;
  readonly to: number;
}

let lastFound: Found | null = null;

/** Callers wait until `watch` knows where the log ends. */
export function historyOfName(name: string, signal: AbortSignal): Promise<RecentHistory> {
  return recent(`name ${name}`, (place) => ask('lease.history', { name, ...place }, signal));
}

export function historyOfTask(taskId: string, signal: AbortSignal): Promise<RecentHistory> {
  return recent(`task ${taskId}`, (place) => ask('task.history', { task_id: taskId, ...place }, signal));
}

async function recent(subject: string, page: Asking): Promise<RecentHistory> {
  const knownSeq = watch.peek()?.status.seq ?? 1;
  const from = Math.max(1, knownSeq - HISTORY_ENTRIES);
  // In the present, entries that arrive during the request are not cut off.
  if (moment.peek() === null) return read(subject, from, page);
  const isCovered = lastFound?.subject === subject && from >= lastFound.from && knownSeq <= lastFound.to;
  if (!isCovered) lastFound = await read(subject, from, page);
  const { entries, isWhole } = lastFound!;
  return { entries: entries.filter(({ seq }) => seq <= knownSeq), isWhole };
}

async function read(subject: string, from: number, page: Asking): Promise<Found> {
  const entries: Page['entries'] = [];
  let isWhole = from === 1;
  let cursor: string | undefined;
  try {
    do {
      const answer: Page = await page({ from, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
      entries.push(...answer.entries);
      isWhole &&= answer.first_seq <= 1;
      cursor = answer.next_cursor;
    } while (cursor !== undefined && entries.length < ENTRIES_MAX);
  } catch (fault) {
    // It has no entry in that part of the log, or has been forgotten since the displayed moment.
    if (!isNotFound(fault)) throw fault;
  }
  const to = cursor === undefined ? Number.POSITIVE_INFINITY : (entries.at(-1)?.seq ?? from);
  return { subject, from, to, entries, isWhole };
}
