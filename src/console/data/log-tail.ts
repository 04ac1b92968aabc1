/**
 * The tail of the log: the entries at the time the page opens, then every entry as it becomes durable. Entries are
 * batched a few times a second and only the newest are kept, so a busy log costs the page no more than a quiet one.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EntryRecord, EntryType } from '../../browser.ts';
import { LeaseholdError } from '../../browser.ts';
import { transportOf } from '../../client/client.ts';
import { isLive } from './clock.ts';
import { currentClient, identity, Refused } from './connection.ts';

export interface LogBounds {
  /** The oldest position that a compaction or a restore has left. */
  readonly firstSeq: number;
  readonly endSeq: number;
}

export interface LogTail {
  /** The newest first. */
  readonly entries: readonly EntryRecord[];
  /** How many entries have arrived since the page was opened and are no longer shown. */
  readonly dropped: number;
  readonly fault: unknown;
}

const SHOWN_MAX = 500;
const SHOWN_FIRST = 200;
const SHOW_EVERY_MS = 300;
/** How far back the page looks for entries when it opens. */
const LOOK_BACK = 2_000;
const AGAIN_MS = 3_000;

/**
 * `from` null: the tail of the log, followed; otherwise the entries from that position on, without following. At an
 * earlier moment the log ends with `endSeq`. `range` is null until the server has told it.
 */
export function useLogTail(
  types: readonly EntryType[],
  from: number | null,
  range: LogBounds | null,
  isPast: boolean,
): LogTail {
  const [tail, setTail] = useState<LogTail>({ entries: [], dropped: 0, fault: null });
  const nextSeq = useRef(0);
  const live = isLive.value;
  const key = `${types.join()} ${from} ${identity.value?.name} ${isPast ? range?.endSeq : 'now'}`;
  const isKnown = range !== null;
  const bounds = useRef<LogBounds>({ firstSeq: 1, endSeq: 1 });
  if (range !== null) bounds.current = range;

  useEffect(() => {
    nextSeq.current = 0;
    setTail({ entries: [], dropped: 0, fault: null });
  }, [key]);

  useEffect(() => {
    if (!isKnown || (!live && nextSeq.current !== 0)) return;
    const ending = new AbortController();
    const { signal } = ending;
    const transport = transportOf(currentClient());
    const only = types.length === 0 ? {} : { types };
    let fresh: EntryRecord[] = [];
    const show = (): void => {
      if (fresh.length === 0) return;
      const came = fresh.reverse();
      fresh = [];
      setTail(({ entries, dropped }) => {
        const all = [...came, ...entries];
        return {
          entries: all.slice(0, SHOWN_MAX),
          dropped: dropped + Math.max(0, all.length - SHOWN_MAX),
          fault: null,
        };
      });
    };
    const timer = setInterval(show, SHOW_EVERY_MS);
    const run = async (): Promise<void> => {
      if (nextSeq.current === 0) {
        const { firstSeq, endSeq } = bounds.current;
        const first = from ?? Math.max(firstSeq, endSeq - LOOK_BACK);
        const reply = await transport.log({
          from: first,
          limit: LOOK_BACK,
          ...(types.length === 0 ? {} : { types: [...types] }),
        });
        if (signal.aborted) return;
        if (!reply.ok) throw new Refused(reply);
        const kept = isPast ? reply.entries.filter(({ seq }) => seq <= endSeq) : reply.entries;
        fresh = from === null ? kept.slice(-SHOWN_FIRST) : kept.slice(0, SHOWN_MAX);
        nextSeq.current = (reply.entries.at(-1)?.seq ?? endSeq) + 1;
        show();
      }
      if (from !== null || !live) return;
      for await (const entry of transport.follow(nextSeq.current, signal, only)) {
        nextSeq.current = entry.seq + 1;
        fresh.push(entry);
      }
    };
    let again: ReturnType<typeof setTimeout> | undefined;
    const start = (): void => {
      run().catch((fault: unknown) => {
        if (signal.aborted) return;
        // What was to come next was compacted away during a pause: the tail is read anew.
        if (from === null && isCompacted(fault)) nextSeq.current = 0;
        setTail((before) => ({ ...before, fault }));
        again = setTimeout(start, AGAIN_MS);
      });
    };
    start();
    return () => {
      ending.abort();
      clearInterval(timer);
      clearTimeout(again);
      show();
    };
  }, [key, live, isKnown]);

  return tail;
}

function isCompacted(fault: unknown): boolean {
  if (fault instanceof Refused) return fault.problem.code === 'LOG_COMPACTED';
  return fault instanceof LeaseholdError && fault.code === 'LOG_COMPACTED';
}
