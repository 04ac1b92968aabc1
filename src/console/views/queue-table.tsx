/** One row per queue: what it holds and how fast it drains. */
import { durationText } from '../data/clock.ts';
import { type DrainTime, drainTimeMs, recentRate } from '../data/drain-time.ts';
import type { Overview, QueueOverview, Rates } from '../data/watch.ts';
import { Sparkline } from '../parts/figures.tsx';
import { Empty } from '../parts/notices.tsx';
import { Count, NameLink, State } from '../parts/text.tsx';

export function QueueTable({ overview, rates }: { overview: Overview | null; rates: Rates }) {
  if (overview === null) return null;
  return (
    <>
      {overview.queues.length === 0 ? (
        <Empty>No queue has a task. The first task.create makes one.</Empty>
      ) : (
        <div class="scroll" tabIndex={0} role="group" aria-label="Queues">
          <table>
            <thead>
              <tr>
                <th scope="col">Queue</th>
                <th scope="col" class="num">
                  Ready
                </th>
                <th scope="col" class="num">
                  Delayed
                </th>
                <th scope="col" class="num">
                  Limited
                </th>
                <th scope="col" class="num">
                  Leased
                </th>
                <th scope="col" class="num">
                  Failed
                </th>
                <th scope="col" class="num">
                  Dead
                </th>
                <th scope="col" class="num">
                  Oldest
                </th>
                <th scope="col" class="num">
                  Workers
                </th>
                <th scope="col">Completed per second</th>
                <th scope="col" class="num">
                  Drains in
                </th>
              </tr>
            </thead>
            <tbody>
              {overview.queues.map((queue) => (
                <QueueRow key={queue.queue} queue={queue} completed={rates.completed.get(queue.queue)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function QueueRow({
  queue,
  completed = [],
}: {
  queue: QueueOverview;
  completed?: readonly number[] | undefined;
}) {
  const perS = recentRate(completed);
  const { ready, delayed, backoff, limited, leased, failed, dead } = queue;
  return (
    <tr>
      <th scope="row">
        <NameLink view="queues" text={queue.queue} /> {queue.paused && <State of="paused" />}
      </th>
      <td class="num">
        <Count of={ready} quiet />
      </td>
      <td class="num">
        <Count of={delayed + backoff} quiet />
      </td>
      <td class="num">
        <Count of={limited} quiet />
      </td>
      <td class="num">
        <Count of={leased} quiet />
      </td>
      <td class={`num ${failed > 0 ? 'warn' : ''}`}>
        <Count of={failed} quiet />
      </td>
      <td class={`num ${dead > 0 ? 'bad' : ''}`}>
        <Count of={dead} quiet />
      </td>
      <td class="num figure">
        {ready === 0 ? <span class="zero">–</span> : durationText(queue.oldest_ready_ms)}
      </td>
      <td class="num">
        <Count of={queue.workers} quiet />
      </td>
      <td class="rate">
        <Sparkline
          values={completed}
          label={`Completions per second of ${queue.queue}${perS === null ? '' : `, now ${perS.toFixed(1)}`}`}
        />
        <span class="figure">
          <Rate perS={perS} />
        </span>
      </td>
      <td class="num figure">{drainText(drainTimeMs(queue, completed))}</td>
    </tr>
  );
}

function Rate({ perS }: { perS: number | null }) {
  if (perS === null || perS === 0) return <span class="zero">{perS === null ? '–' : 0}</span>;
  return <>{perS.toFixed(perS < 10 ? 1 : 0)}</>;
}

const NO_TIME: Readonly<Record<Exclude<DrainTime, number>, { text: string; title: string }>> = {
  empty: { text: '–', title: 'No task waits' },
  unmeasured: { text: '–', title: 'Not measured yet' },
  slow: {
    text: 'unknown',
    title: 'None was completed in the last half minute: its workers are busy, or a limit holds it back',
  },
  never: {
    text: 'never',
    title: 'No worker has a task of it, and none was completed in the last half minute',
  },
};

function drainText(time: DrainTime) {
  if (typeof time === 'number') {
    return (
      <span title="Ready and limited tasks, at the pace of the last half minute">{durationText(time)}</span>
    );
  }
  const { text, title } = NO_TIME[time];
  return (
    <span title={title} class={text === '–' ? 'zero' : ''}>
      {text}
    </span>
  );
}
