/** **Now**: problems first, then the queues, then the authority itself. */
import { durationText } from '../data/clock.ts';
import type { Feed } from '../data/feed.ts';
import { hrefOf } from '../data/route.ts';
import {
  type Overview,
  type QueueOverview,
  type Rates,
  rates,
  recentRate,
  type Status,
  type Watch,
} from '../data/watch.ts';
import { DrainBar, Sparkline } from '../parts/figures.tsx';
import { Empty, Shown } from '../parts/notices.tsx';
import { Count, Field, Instant, Name, NameLink, State } from '../parts/text.tsx';
import { troublesOf } from './problems.tsx';

export function NowPage({ feed }: { feed: Feed<Watch> }) {
  return (
    <>
      <h1>Now</h1>
      <Shown feed={feed}>
        {({ status, overview }) => (
          <>
            <Troubles status={status} overview={overview} />
            <QueueTable overview={overview} rates={rates.value} />
            <AuthorityCard status={status} overview={overview} rates={rates.value} />
          </>
        )}
      </Shown>
    </>
  );
}

function Troubles({ status, overview }: { status: Status; overview: Overview | null }) {
  const troubles = troublesOf(status, overview);
  if (troubles.length === 0) {
    return (
      <p class="calm" role="status">
        Nothing is wrong that this server knows of.
      </p>
    );
  }
  return (
    <ul class="troubles" aria-label="Problems">
      {troubles.map(({ tone, says, href }, index) => (
        <li key={index} class={tone}>
          <a href={href}>{says}</a>
        </li>
      ))}
    </ul>
  );
}

function QueueTable({ overview, rates }: { overview: Overview | null; rates: Rates }) {
  if (overview === null) return null;
  return (
    <section>
      <h2>Queues</h2>
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
    </section>
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
          label={`Completions per second of ${queue.queue}, now ${perS.toFixed(1)}`}
        />
        <span class="figure">
          {perS === 0 ? <span class="zero">0</span> : perS.toFixed(perS < 10 ? 1 : 0)}
        </span>
      </td>
      <td class="num figure">{drainText(ready, perS)}</td>
    </tr>
  );
}

function drainText(ready: number, perS: number) {
  if (ready === 0) return <span class="zero">–</span>;
  return perS === 0 ? (
    <span title="Nothing was completed in the last half minute">never</span>
  ) : (
    durationText((ready / perS) * 1_000)
  );
}

function AuthorityCard({
  status,
  overview,
  rates,
}: {
  status: Status;
  overview: Overview | null;
  rates: Rates;
}) {
  const { counts } = status;
  return (
    <section>
      <h2>Authority</h2>
      <dl class="card">
        <Field label="Role">
          {status.role}
          {status.role === 'standby' && status.leader_url ? <>, the leader is {status.leader_url}</> : null}
        </Field>
        <Field label="Position">
          <a class="figure" href={hrefOf('log')}>
            {status.seq}
          </a>{' '}
          <span class="soft">epoch {status.epoch}</span>
        </Field>
        <Field label="Last commit">
          <Instant at={status.last_commit} />
        </Field>
        {overview !== null && (
          <>
            <Field label="Commits per second">
              <span class="figure">{rates.commitsPerS.toFixed(1)}</span>
            </Field>
            <Field label="Time to sync">
              <span class="figure">{rates.commitMs === null ? '–' : `${rates.commitMs.toFixed(2)} ms`}</span>
            </Field>
          </>
        )}
        <Field label="Log on disk">
          <span class="figure">{bytesText(status.log_bytes)}</span>{' '}
          <span class={status.disk_full ? 'bad' : 'soft'}>{status.disk_full ? 'disk full' : 'has room'}</span>
        </Field>
        <Field label="Leases">
          <a href={hrefOf('leases')}>
            <Count of={counts.leases} />
          </a>{' '}
          <span class="soft">
            live, <Count of={counts.waiters} /> waiting
          </span>
        </Field>
        <Field label="Guard of the orchestrator">
          {overview === null || overview.guard === null ? (
            <span class="soft">
              {status.guard_holder === null ? 'not held' : <Name text={status.guard_holder} />}
            </span>
          ) : (
            <span class="guard">
              <Name text={overview.guard.holder} />
              <DrainBar
                remainingMs={overview.guard.remaining_ms}
                seenMs={Date.parse(overview.now)}
                ttlMs={Math.max(15_000, overview.guard.remaining_ms)}
              />
            </span>
          )}
        </Field>
      </dl>
    </section>
  );
}

function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  let value = bytes;
  for (; value >= 1_024 && at < units.length - 1; at++) value /= 1_024;
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}
