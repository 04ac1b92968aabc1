/** **Tasks**: search with qualifiers, indexed results, and bulk actions on everything that matches. */
import { useState } from 'preact/hooks';
import type { Body } from '../../browser.ts';
import { authorityNow, countText } from '../data/clock.ts';
import { ask, may } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { go, hrefOf, route } from '../data/route.ts';
import { parseTaskQuery, QUALIFIERS, type TaskQuery } from '../data/task-query.ts';
import { visible } from '../data/visible.ts';
import { CopyCurl } from '../parts/copy.tsx';
import { Empty, Shown } from '../parts/notices.tsx';
import { Ago, Name, NameLink, State } from '../parts/text.tsx';
import { BulkActions } from './bulk.tsx';

export type Task = Body<'task.list'>['tasks'][number];

const PAGE = 50;
const PAGES_MAX = 20;
/** A page with payloads is larger than other answers. */
const EVERY_MS = 4_000;

const EXAMPLES = [
  'state:dead',
  'state:failed newer:1d',
  'state:leased order:oldest',
  'state:waiting older:1h',
];

export function TasksPage() {
  const text = route.value.query.q ?? '';
  // The instants of older: and newer: stay fixed while the result is shown.
  const [search, setSearch] = useState({ text, query: parseTaskQuery(text, authorityNow()) });
  if (search.text !== text) setSearch({ text, query: parseTaskQuery(text, authorityNow()) });
  const { query } = search;
  return (
    <>
      <h1>Tasks</h1>
      <SearchBox text={text} />
      {query.wrong !== null ? (
        <p class="fault" role="alert">
          {visible(query.wrong)} Qualifiers: {QUALIFIERS.map((each) => `${each}:`).join(' ')}
        </p>
      ) : query.taskId !== null ? (
        <p>
          Open task <NameLink view="tasks" text={query.taskId} />
        </p>
      ) : (
        <Results key={text} query={query} />
      )}
    </>
  );
}

function SearchBox({ text }: { text: string }) {
  const [draft, setDraft] = useState(text);
  const [shown, setShown] = useState(text);
  if (shown !== text) {
    setShown(text);
    setDraft(text);
  }
  const submit = (event: Event): void => {
    event.preventDefault();
    const { taskId, wrong } = parseTaskQuery(draft, authorityNow());
    go(
      taskId !== null && wrong === null
        ? hrefOf('tasks', taskId)
        : hrefOf('tasks', null, { q: draft.trim() }),
    );
  };
  return (
    <>
      <form class="filter" role="search" onSubmit={submit}>
        <input
          id="search"
          type="search"
          placeholder="queue:mail state:dead key:acme older:1h, or the id of a task"
          aria-label="Search tasks"
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
        <button type="submit">Search</button>
      </form>
      <p class="hints">
        {EXAMPLES.map((example) => (
          <a key={example} href={hrefOf('tasks', null, { q: example })}>
            {example}
          </a>
        ))}
      </p>
    </>
  );
}

function Results({ query }: { query: TaskQuery }) {
  const [pages, setPages] = useState(1);
  const { filter, order } = query;
  const feed = useFeed(
    `tasks ${JSON.stringify([filter, order, pages])}`,
    async (signal) => {
      const tasks: Task[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < pages; page++) {
        const answer: Body<'task.list'> = await ask(
          'task.list',
          { ...filter, order, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
          signal,
        );
        tasks.push(...answer.tasks);
        cursor = answer.next_cursor;
        if (cursor === undefined) break;
      }
      return { tasks, hasMore: cursor !== undefined };
    },
    EVERY_MS,
  );
  return (
    <>
      {may('v1:admin') && Object.keys(filter).length > 0 && (
        <BulkActions filter={filter} onDone={feed.again} />
      )}
      <Shown feed={feed}>
        {({ tasks, hasMore }) => (
          <>
            {tasks.length === 0 ? (
              <Empty>{hasMore ? 'No match among those searched so far.' : 'No task matches.'}</Empty>
            ) : (
              <TaskTable tasks={tasks} />
            )}
            <div class="actions">
              {hasMore && pages < PAGES_MAX && (
                <button type="button" onClick={() => setPages(pages + 1)}>
                  Show more
                </button>
              )}
              <span class="soft">
                {countText(tasks.length)} shown, {order} first{hasMore ? '; there are more' : ''}
              </span>
              <CopyCurl op="task.list" request={{ ...filter, order, limit: PAGE }} />
            </div>
          </>
        )}
      </Shown>
    </>
  );
}

export function TaskTable({ tasks }: { tasks: readonly Task[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Tasks">
      <table>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">State</th>
            <th scope="col">Queue</th>
            <th scope="col">Key</th>
            <th scope="col" class="num">
              Attempt
            </th>
            <th scope="col" class="num">
              Age
            </th>
            <th scope="col">Detail</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={task.task_id}>
              <th scope="row">
                <NameLink view="tasks" text={task.task_id} />
              </th>
              <td>
                <State of={task.state} />
              </td>
              <td>
                <NameLink view="queues" text={task.queue} />
              </td>
              <td>{task.key === undefined ? <span class="zero">–</span> : <Name text={task.key} />}</td>
              <td class="num figure">{task.attempt}</td>
              <td class="num">
                <Ago at={task.created_at} />
              </td>
              <td class="known">
                <Known task={task} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Known({ task }: { task: Task }) {
  if (task.state === 'LEASED' && task.worker_id !== undefined) {
    return (
      <>
        with <NameLink view="workers" text={task.worker_id} />
        {task.cancel_requested ? ', to be cancelled' : ''}
      </>
    );
  }
  if (task.requeued_as !== undefined) {
    return (
      <>
        runs again as <NameLink view="tasks" text={task.requeued_as} />
      </>
    );
  }
  if (task.reason !== undefined) return <Name text={task.reason} />;
  return null;
}
