/** Every view of the console, in the order of the navigation. A new view is a row here. */
import type { ComponentChildren } from 'preact';
import type { Feed } from './data/feed.ts';
import type { Watch } from './data/watch.ts';
import { LeasePage } from './views/lease.tsx';
import { LeasesPage } from './views/leases.tsx';
import { NowPage } from './views/now.tsx';

export interface View {
  readonly name: string;
  readonly title: string;
  /** After `g`. */
  readonly key: string;
  readonly page: (subject: string | null, feed: Feed<Watch>) => ComponentChildren;
}

export const VIEWS: readonly View[] = [
  { name: 'now', title: 'Now', key: 'n', page: (_, feed) => <NowPage feed={feed} /> },
  {
    name: 'leases',
    title: 'Leases',
    key: 'l',
    page: (subject) => (subject === null ? <LeasesPage /> : <LeasePage key={subject} name={subject} />),
  },
];

export function viewOf(name: string): View | null {
  return VIEWS.find((view) => view.name === name) ?? null;
}
