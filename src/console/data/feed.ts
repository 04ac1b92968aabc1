/**
 * Polls the data of a view. The last answer stays until the next one arrives, so nothing flickers, even while the time
 * machine moves. Polling stops while the page is paused, hidden or shows an earlier moment, and slows down while the
 * server is away.
 */
import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isLive } from './clock.ts';
import { identity } from './connection.ts';
import { moment } from './route.ts';

export interface Feed<T> {
  readonly data: T | null;
  /** Why the newest request failed; the data is then older. */
  readonly fault: unknown;
  /** Polls at once, after the user has changed something. */
  again(): void;
}

const REFRESH_MS = 2_000;
const AWAY_MS = 3_000;

/** `key` identifies the data: a new key starts empty. A null key requests nothing. */
export function useFeed<T>(
  key: string | null,
  question: (signal: AbortSignal) => Promise<T>,
  everyMs = REFRESH_MS,
): Feed<T> {
  const at = moment.value === null ? 'now' : JSON.stringify(moment.value);
  // The last answer stays between two earlier moments, but not between the present and an earlier moment.
  const subject = key === null ? null : `${key} ${at === 'now'} ${identity.value?.name ?? ''}`;
  const whole = subject === null ? null : `${subject} ${at}`;
  const [answer, setAnswer] = useState<{ key: string | null; data: T | null; fault: unknown }>({
    key: null,
    data: null,
    fault: null,
  });
  const asking = useRef(question);
  asking.current = question;
  const wake = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (whole === null) return;
    const ending = new AbortController();
    let timer = 0;
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      let pauseMs = everyMs;
      try {
        const data = await asking.current(ending.signal);
        if (!ending.signal.aborted) setAnswer({ key: subject, data, fault: null });
      } catch (fault) {
        if (ending.signal.aborted) return;
        pauseMs = Math.max(everyMs, AWAY_MS);
        const keeps = at === 'now';
        setAnswer((before) => ({
          key: subject,
          data: keeps && before.key === subject ? before.data : null,
          fault,
        }));
      }
      if (!ending.signal.aborted) timer = window.setTimeout(next, pauseMs);
    };
    const next = (): void => {
      // `isLive` restarts a stopped feed.
      if (isLive.value) void run();
    };
    wake.current = () => void run();
    void run();
    return () => {
      ending.abort();
      clearTimeout(timer);
      wake.current = () => undefined;
    };
  }, [whole, everyMs]);

  const wasLive = useRef(isLive.peek());
  useSignalEffect(() => {
    const live = isLive.value;
    if (live && !wasLive.current) wake.current();
    wasLive.current = live;
  });

  const isCurrent = answer.key === subject;
  return {
    data: isCurrent ? answer.data : null,
    fault: isCurrent ? answer.fault : null,
    again: () => wake.current(),
  };
}
