/** **Now**: problems first, then the queues, then the authority itself. */
import type { Feed } from '../data/feed.ts';
import { hrefOf } from '../data/route.ts';
import { type Overview, type Rates, rates, type Status, type Watch } from '../data/watch.ts';
import { DrainBar } from '../parts/figures.tsx';
import { Shown } from '../parts/notices.tsx';
import { Count, Field, Instant, Name } from '../parts/text.tsx';
import { troublesOf } from './problems.tsx';
import { QueueTable } from './queue-table.tsx';

export function NowPage({ feed }: { feed: Feed<Watch> }) {
  return (
    <>
      <h1>Now</h1>
      <Shown feed={feed}>
        {({ status, overview }) => (
          <>
            <Troubles status={status} overview={overview} />
            <section>
              <h2>Queues</h2>
              <QueueTable overview={overview} rates={rates.value} />
            </section>
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
