/** Queues at an earlier moment, as far as the log records them: not workers, rates, or tasks held back by limits. */
import type { Body } from '../../browser.ts';
import { ask } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { Empty, NotInTheLog, Shown } from '../parts/notices.tsx';
import { Count, NameLink, State } from '../parts/text.tsx';

type QueueCounts = Body<'queue.list'>['queues'][number];

const COLUMNS = ['waiting', 'leased', 'completed', 'failed', 'dead'] as const;

export function PastQueues() {
  const feed = useFeed('past queues', async (signal) => (await ask('queue.list', {}, signal)).queues);
  return (
    <>
      <Shown feed={feed}>
        {(queues) =>
          queues.length === 0 ? (
            <Empty>No queue had a task then.</Empty>
          ) : (
            <div class="scroll" tabIndex={0} role="group" aria-label="Queues">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Queue</th>
                    {COLUMNS.map((column) => (
                      <th key={column} scope="col" class="num">
                        {column[0]!.toUpperCase() + column.slice(1)}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {queues.map((queue) => (
                    <QueueRow key={queue.queue} queue={queue} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
      <NotInTheLog what="Workers, rates and waiting times" />
    </>
  );
}

function QueueRow({ queue }: { queue: QueueCounts }) {
  return (
    <tr>
      <th scope="row">
        <NameLink view="queues" text={queue.queue} /> {queue.paused && <State of="paused" />}
      </th>
      {COLUMNS.map((column) => (
        <td key={column} class={`num ${toneOf(column, queue[column])}`}>
          <Count of={queue[column]} quiet />
        </td>
      ))}
    </tr>
  );
}

function toneOf(column: (typeof COLUMNS)[number], count: number): string {
  if (count === 0) return '';
  return column === 'dead' ? 'bad' : column === 'failed' ? 'warn' : '';
}
