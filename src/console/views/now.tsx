/** **Now**: problems first, then the queues, then the authority itself. */
import { useState } from 'preact/hooks';
import { durationText } from '../data/clock.ts';
import type { Feed } from '../data/feed.ts';
import { hrefOf, moment } from '../data/route.ts';
import { type Overview, type Rates, rates, type Status, type Watch } from '../data/watch.ts';
import { DrainBar } from '../parts/figures.tsx';
import { Shown } from '../parts/notices.tsx';
import { Count, Field, Instant, Name } from '../parts/text.tsx';
import { PastQueues } from './past-queues.tsx';
import { troublesOf } from './problems.tsx';
import { QueueTable } from './queue-table.tsx';

export function NowPage({ feed }: { feed: Feed<Watch> }) {
  return (
    <>
      <h1>{moment.value === null ? 'Now' : 'Then'}</h1>
      <Shown feed={feed}>
        {({ status, overview }) =>
          moment.value !== null ? (
            <>
              <section>
                <h2>Queues</h2>
                <PastQueues />
              </section>
              <PastAuthority status={status} />
            </>
          ) : (
            <>
              <Troubles status={status} overview={overview} />
              <section>
                <h2>Queues</h2>
                <QueueTable overview={overview} rates={rates.value} />
              </section>
              <AuthorityCard status={status} overview={overview} rates={rates.value} />
            </>
          )
        }
      </Shown>
    </>
  );
}

/** The worst come first; a longer list would hide the queues below. */
const TROUBLES_SHOWN = 6;

function Troubles({ status, overview }: { status: Status; overview: Overview | null }) {
  const [isWhole, setWhole] = useState(false);
  const troubles = troublesOf(status, overview);
  const rest = isWhole ? 0 : troubles.length - TROUBLES_SHOWN;
  if (troubles.length === 0) {
    return (
      <p class="calm" role="status">
        Nothing is wrong that this server knows of.
      </p>
    );
  }
  return (
    <ul class="troubles" aria-label="Problems">
      {(rest > 1 ? troubles.slice(0, TROUBLES_SHOWN) : troubles).map(({ tone, says, href }, index) => (
        <li key={index} class={tone}>
          <a href={href}>{says}</a>
        </li>
      ))}
      {rest > 1 && (
        <li class="more">
          <button type="button" class="quiet" onClick={() => setWhole(true)}>
            Show {rest} more
          </button>
        </li>
      )}
    </ul>
  );
}

/** The authority at an earlier moment, as far as the log records it. */
function PastAuthority({
  status: { seq, last_commit: at, counts, guard_holder: guard },
}: {
  status: Status;
}) {
  return (
    <section>
      <h2>Authority</h2>
      <dl class="card">
        <Field label="Position">
          <a class="figure" href={hrefOf('log')}>
            {seq}
          </a>
        </Field>
        <Field label="Entry written">
          <Instant at={at} />
        </Field>
        <Field label="Leases">
          <a href={hrefOf('leases')}>
            <Count of={counts.leases} />
          </a>{' '}
          <span class="soft">live</span>
        </Field>
        <Field label="Guard of the orchestrator">
          {guard === null ? <span class="soft">not held</span> : <Name text={guard} />}
        </Field>
      </dl>
    </section>
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
              <span class="figure">{rates.commitsPerS?.toFixed(1) ?? '–'}</span>
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
          <span class="soft">live</span>
        </Field>
        <Field label="In line">
          <Count of={counts.waiters} /> <span class="soft">for a lease or a task</span>
        </Field>
        {overview !== null && (
          <Field label="Standbys">
            <Standbys standbys={overview.standbys} />
          </Field>
        )}
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

/** A standby polls the guard several times a second, so this long a silence is shown as a warning. */
const SILENT_MS = 10_000;

function Standbys({ standbys }: Pick<Overview, 'standbys'>) {
  if (standbys === null) return <span class="soft">none known</span>;
  if (standbys.length === 0) return <span class="warn">none is connected</span>;
  return (
    <>
      {standbys.map(({ url, silent_ms: silentMs }) => (
        <div key={url}>
          <Name text={url} />{' '}
          {silentMs > SILENT_MS && <span class="warn">silent for {durationText(silentMs)}</span>}
        </div>
      ))}
    </>
  );
}

function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  let value = bytes;
  for (; value >= 1_024 && at < units.length - 1; at++) value /= 1_024;
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}
