/** Every view of the console, in the order of the navigation. A new view is a row here. */
import type { ComponentChildren } from 'preact';
import type { Feed } from './data/feed.ts';
import type { Watch } from './data/watch.ts';
import { FencePage, FencesPage } from './views/fences.tsx';
import { LeasePage } from './views/lease.tsx';
import { LeasesPage } from './views/leases.tsx';
import { LogPage } from './views/log.tsx';
import { NowPage } from './views/now.tsx';
import { QueuePage, QueuesPage } from './views/queues.tsx';
import { SchedulePage, SchedulesPage } from './views/schedules.tsx';
import { SessionPage, SessionsPage } from './views/sessions.tsx';
import { TaskPage } from './views/task.tsx';
import { TasksPage } from './views/tasks.tsx';
import { WorkerPage, WorkersPage } from './views/workers.tsx';

export interface View {
  readonly name: string;
  readonly title: string;
  /** The shortcut letter after `g`. */
  readonly key: string;
  readonly page: (subject: string | null, feed: Feed<Watch>) => ComponentChildren;
}

export const VIEWS: readonly View[] = [
  { name: 'now', title: 'Now', key: 'n', page: (_, feed) => <NowPage feed={feed} /> },
  {
    name: 'leases',
    title: 'Leases',
    key: 'l',
    page: (name) => (name === null ? <LeasesPage /> : <LeasePage key={name} name={name} />),
  },
  {
    name: 'tasks',
    title: 'Tasks',
    key: 't',
    page: (id) => (id === null ? <TasksPage /> : <TaskPage key={id} id={id} />),
  },
  {
    name: 'queues',
    title: 'Queues',
    key: 'q',
    page: (name, feed) =>
      name === null ? <QueuesPage feed={feed} /> : <QueuePage key={name} name={name} feed={feed} />,
  },
  {
    name: 'schedules',
    title: 'Schedules',
    key: 'c',
    page: (name) => (name === null ? <SchedulesPage /> : <SchedulePage key={name} name={name} />),
  },
  {
    name: 'workers',
    title: 'Workers',
    key: 'w',
    page: (id) => (id === null ? <WorkersPage /> : <WorkerPage key={id} id={id} />),
  },
  {
    name: 'sessions',
    title: 'Sessions',
    key: 's',
    page: (id) => (id === null ? <SessionsPage /> : <SessionPage key={id} id={id} />),
  },
  {
    name: 'fences',
    title: 'Fences',
    key: 'f',
    page: (id) => (id === null ? <FencesPage /> : <FencePage key={id} id={id} />),
  },
  { name: 'log', title: 'Log', key: 'o', page: () => <LogPage /> },
];

export function viewOf(name: string): View | null {
  return VIEWS.find((view) => view.name === name) ?? null;
}
