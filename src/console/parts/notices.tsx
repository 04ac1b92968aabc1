/** Notices for an empty result, a failed request, and the wait for the first answer. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refused, server } from '../data/connection.ts';
import type { Feed } from '../data/feed.ts';
import { visible } from '../data/visible.ts';

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Appears only when the answer takes a while, to avoid flicker. */
export function Loading() {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return isLate ? <p class="empty">Asking the server…</p> : <p class="empty" />;
}

export function Fault({ fault }: { fault: unknown }) {
  if (fault === null || fault === undefined) return null;
  if (fault instanceof Refused) {
    const { code, detail } = fault.problem;
    return (
      <p class="fault" role="alert">
        <a href={`${server}errors/${code}`} target="_blank" rel="noreferrer">
          {code}
        </a>{' '}
        {visible(detail ?? '')}
      </p>
    );
  }
  return (
    <p class="fault" role="alert">
      {visible(fault instanceof Error ? fault.message : String(fault))}
    </p>
  );
}

/** Replaces, at an earlier moment, data that the running server keeps only in memory. */
export function NotInTheLog({ what }: { what: string }) {
  return (
    <p class="empty">
      {what} are not in the log: the server keeps them in memory, so an earlier moment does not show them.
    </p>
  );
}

/** The data of a feed, or the notice instead. */
export function Shown<T>({ feed, children }: { feed: Feed<T>; children: (data: T) => ComponentChildren }) {
  if (feed.data === null) return feed.fault === null ? <Loading /> : <Fault fault={feed.fault} />;
  return (
    <>
      {feed.fault instanceof Refused && <Fault fault={feed.fault} />}
      {children(feed.data)}
    </>
  );
}
