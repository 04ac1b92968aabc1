/** **Workers**: those seen recently, and what each holds. */
import { ask } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { hrefOf, moment } from '../data/route.ts';
import { Empty, NotInTheLog, Shown } from '../parts/notices.tsx';
import { Ago, Name, NameLink } from '../parts/text.tsx';
import { WorkerTable } from './queues.tsx';
import { TaskTable } from './tasks.tsx';

export function WorkersPage() {
  const isPast = moment.value !== null;
  const feed = useFeed(isPast ? null : 'workers', async (signal) => {
    const { workers } = await ask('worker.list', {}, signal);
    return [...workers].sort((a, b) => a.worker_id.localeCompare(b.worker_id, 'en', { numeric: true }));
  });
  return (
    <>
      <h1>Workers {!isPast && <span class="count">heard of in the last ten minutes</span>}</h1>
      {isPast && <NotInTheLog what="Workers" />}
      {!isPast && (
        <Shown feed={feed}>
          {(workers) =>
            workers.length === 0 ? (
              <Empty>No worker has asked for tasks. The list is empty after a restart of the server.</Empty>
            ) : (
              <WorkerTable workers={workers} />
            )
          }
        </Shown>
      )}
    </>
  );
}

export function WorkerPage({ id }: { id: string }) {
  const isPast = moment.value !== null;
  const worker = useFeed(isPast ? null : `worker ${id}`, async (signal) => {
    const { workers } = await ask('worker.list', {}, signal);
    return workers.find(({ worker_id: each }) => each === id) ?? 'silent';
  });
  const tasks = useFeed(`tasks of ${id}`, async (signal) => {
    return (await ask('task.list', { worker_id: id, state: 'LEASED', limit: 100 }, signal)).tasks;
  });
  return (
    <>
      <p class="crumb">
        <a href={hrefOf('workers')}>Workers</a>
      </p>
      <h1>
        <Name text={id} />
      </h1>
      {isPast ? (
        <NotInTheLog what="Signs of life of a worker" />
      ) : (
        <Shown feed={worker}>
          {(seen) =>
            seen === 'silent' ? (
              <p class="lead">It was not seen in the last ten minutes.</p>
            ) : (
              <p class="lead">
                Last heard of <Ago at={seen.last_heartbeat} /> ago
                {seen.queues.length > 0 && (
                  <>
                    ; it polls{' '}
                    {seen.queues.map((queue, index) => (
                      <span key={queue}>
                        {index > 0 && ', '}
                        <NameLink view="queues" text={queue} />
                      </span>
                    ))}
                  </>
                )}
                .
              </p>
            )
          }
        </Shown>
      )}
      <section>
        <h2>What it holds</h2>
        <Shown feed={tasks}>
          {(held) =>
            held.length === 0 ? <Empty>Nothing {isPast ? 'then' : 'now'}.</Empty> : <TaskTable tasks={held} />
          }
        </Shown>
      </section>
    </>
  );
}
