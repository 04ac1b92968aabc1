/** **Queues**: what each holds, its workers and limits; for one queue also how long its tasks wait and run. */
import type { Body } from '../../browser.ts';
import { authorityNow, countText, durationText } from '../data/clock.ts';
import { ask, may } from '../data/connection.ts';
import { drainTimeMs, recentRate } from '../data/drain-time.ts';
import type { Feed } from '../data/feed.ts';
import { useFeed } from '../data/feed.ts';
import { hrefOf, moment } from '../data/route.ts';
import { quotedWord } from '../data/task-query.ts';
import { visible } from '../data/visible.ts';
import { type QueueOverview, rates, type Watch } from '../data/watch.ts';
import { CopyCurl } from '../parts/copy.tsx';
import { confirm } from '../parts/dialog.tsx';
import { Sparkline } from '../parts/figures.tsx';
import { Histogram } from '../parts/histogram.tsx';
import { Empty, NotInTheLog, Shown } from '../parts/notices.tsx';
import { Ago, Count, Duration, Field, Name, NameLink, State } from '../parts/text.tsx';
import { PastQueues } from './past-queues.tsx';
import { queueTroubles } from './problems.tsx';
import { QueueLimits } from './queue-limits.tsx';
import { QueueTable } from './queue-table.tsx';

export function QueuesPage({ feed }: { feed: Feed<Watch> }) {
  return (
    <>
      <h1>Queues</h1>
      {moment.value === null ? (
        <Shown feed={feed}>{({ overview }) => <QueueTable overview={overview} rates={rates.value} />}</Shown>
      ) : (
        <PastQueues />
      )}
    </>
  );
}

type Figures = Body<'queue.figures'>;
type Worker = Body<'worker.list'>['workers'][number];

export function QueuePage({ name, feed }: { name: string; feed: Feed<Watch> }) {
  const isPast = moment.value !== null;
  const figures = useFeed(isPast ? null : `figures ${name}`, (signal) =>
    ask('queue.figures', { queue: name }, signal),
  );
  const listed = useFeed(`queue ${name}`, async (signal) => {
    const { queues } = await ask('queue.list', {}, signal);
    return queues.find(({ queue }) => queue === name) ?? null;
  });
  const workers = useFeed(isPast ? null : `pollers ${name}`, async (signal) => {
    const all = (await ask('worker.list', {}, signal)).workers;
    return all.filter(({ queues }) => queues.includes(name));
  });
  const seen = feed.data?.overview?.queues.find(({ queue }) => queue === name);
  return (
    <>
      <p class="crumb">
        <a href={hrefOf('queues')}>Queues</a>
      </p>
      <h1>
        <Name text={name} /> {listed.data?.paused && <State of="paused" />}
      </h1>
      {isPast ? (
        <PastCard counts={listed.data} />
      ) : seen === undefined ? (
        feed.data !== null && <Empty>This queue has no task now. A queue is created by its first task.</Empty>
      ) : (
        <>
          <Lead queue={seen} nowMs={authorityNow()} />
          <QueueCard queue={seen} />
        </>
      )}
      <div class="actions">
        {may('v1:admin') && listed.data !== null && (
          <button type="button" onClick={() => askToPause(name, listed.data?.paused ?? false, listed.again)}>
            {listed.data.paused ? 'Resume…' : 'Pause…'}
          </button>
        )}
        <a href={hrefOf('tasks', null, { q: `queue:${quotedWord(name)}` })}>Its tasks</a>
        {isPast ? (
          <CopyCurl op="queue.list" request={{}} />
        ) : (
          <CopyCurl op="queue.figures" request={{ queue: name }} />
        )}
      </div>
      {listed.data !== null && <QueueLimits queue={name} limits={listed.data.limits} again={listed.again} />}
      {isPast ? (
        <NotInTheLog what="Workers and the times of tasks" />
      ) : (
        <>
          <Pollers workers={workers.data} />
          <Shown feed={figures}>{(data) => <Times figures={data} />}</Shown>
        </>
      )}
    </>
  );
}

function PastCard({ counts }: { counts: Body<'queue.list'>['queues'][number] | null }) {
  if (counts === null) return <Empty>This queue had no task then.</Empty>;
  return (
    <dl class="card">
      <Field label="Waiting">
        <Count of={counts.waiting} />
      </Field>
      <Field label="Leased">
        <Count of={counts.leased} />
      </Field>
      <Field label="Completed">
        <Count of={counts.completed} />
      </Field>
      <Field label="Failed">
        <Count of={counts.failed} />
      </Field>
      <Field label="Dead">
        <Count of={counts.dead} />
      </Field>
    </dl>
  );
}

/** What is wrong with the queue; else what it does now, and when it will be done. */
function Lead({ queue, nowMs }: { queue: QueueOverview; nowMs: number }) {
  const [trouble] = queueTroubles(queue, nowMs);
  if (trouble !== undefined) return <p class={`lead ${trouble.tone}`}>{trouble.says}</p>;
  const { ready, limited, leased } = queue;
  const time = drainTimeMs(queue, rates.value.completed.get(queue.queue) ?? []);
  return (
    <p class="lead">
      {ready > 0 || limited === 0
        ? `${ready === 0 ? 'No task' : tasks(ready)} ${ready > 1 ? 'wait' : 'waits'} for a worker.`
        : ''}
      {limited > 0 && ` A limit holds back ${tasks(limited)}.`}
      {leased > 0 && ` ${countText(leased)} ${leased === 1 ? 'is' : 'are'} running.`}
      {typeof time === 'number' &&
        ` At the pace of the last half minute, the last one starts in ${durationText(time)}.`}
    </p>
  );
}

function tasks(count: number): string {
  return `${countText(count)} ${count === 1 ? 'task' : 'tasks'}`;
}

function QueueCard({ queue }: { queue: QueueOverview }) {
  const completed = rates.value.completed.get(queue.queue) ?? [];
  return (
    <dl class="card">
      <Field label="Ready">
        <Count of={queue.ready} />
      </Field>
      <Field label="Oldest ready">{queue.ready === 0 ? '–' : <Duration ms={queue.oldest_ready_ms} />}</Field>
      <Field label="Delayed">
        <Count of={queue.delayed} />{' '}
        {queue.backoff > 0 && <span class="soft">and {queue.backoff} after a failure</span>}
      </Field>
      <Field label="Held back by a limit">
        <Count of={queue.limited} />
      </Field>
      <Field label="Leased">
        <Count of={queue.leased} />
      </Field>
      <Field label="Failed">
        <a href={hrefOf('tasks', null, { q: `queue:${quotedWord(queue.queue)} state:failed` })}>
          <Count of={queue.failed} />
        </a>
      </Field>
      <Field label="Dead">
        <a href={hrefOf('tasks', null, { q: `queue:${quotedWord(queue.queue)} state:dead` })}>
          <Count of={queue.dead} />
        </a>
      </Field>
      <Field label="Completed per second">
        <Sparkline values={completed} label="Completions per second" />
        <span class="figure">{recentRate(completed)?.toFixed(1) ?? '–'}</span>
      </Field>
    </dl>
  );
}

function askToPause(queue: string, isPaused: boolean, again: () => void): void {
  confirm({
    title: isPaused ? `Resume ${visible(queue)}?` : `Pause ${visible(queue)}?`,
    says: isPaused ? (
      <p>Workers get its tasks again at once.</p>
    ) : (
      <ul>
        <li>No worker gets a task of it until it is resumed. Tasks can still be created.</li>
        <li>What is leased now continues and may complete.</li>
      </ul>
    ),
    action: isPaused ? 'Resume the queue' : 'Pause the queue',
    run: async () => {
      await ask(isPaused ? 'queue.resume' : 'queue.pause', { queue });
      again();
    },
  });
}

function Pollers({ workers }: { workers: readonly Worker[] | null }) {
  if (workers === null) return null;
  return (
    <section>
      <h2>
        Workers <span class="count">that polled it in the last ten minutes</span>
      </h2>
      {workers.length === 0 ? <Empty>None.</Empty> : <WorkerTable workers={workers} />}
    </section>
  );
}

export function WorkerTable({ workers }: { workers: readonly Worker[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Workers">
      <table>
        <thead>
          <tr>
            <th scope="col">Worker</th>
            <th scope="col" class="num">
              Leases
            </th>
            <th scope="col" class="num">
              Last heard
            </th>
            <th scope="col">Queues</th>
          </tr>
        </thead>
        <tbody>
          {workers.map(({ worker_id: id, active_leases: leases, last_heartbeat: heard, queues }) => (
            <tr key={id}>
              <th scope="row">
                <NameLink view="workers" text={id} />
              </th>
              <td class="num">
                <Count of={leases} quiet />
              </td>
              <td class="num">
                <Ago at={heard} />
              </td>
              <td>
                {queues.map((queue, index) => (
                  <span key={queue}>
                    {index > 0 && ', '}
                    <NameLink view="queues" text={queue} />
                  </span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Times({ figures }: { figures: Figures }) {
  return (
    <>
      <section>
        <h2>
          Waiting <span class="count">from ready to leased, since this server opened the log</span>
        </h2>
        <Histogram buckets={figures.wait} label="Waiting times" />
      </section>
      <section>
        <h2>
          Running <span class="count">from leased to the end of the lease</span>
        </h2>
        <Histogram buckets={figures.run} label="Running times" />
      </section>
    </>
  );
}
