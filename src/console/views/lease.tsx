/** One lease: its holder, its waiters and what blocks each, its earlier holders, and how each holding ended. */
import { useRef } from 'preact/hooks';
import type { Body } from '../../browser.ts';
import { authorityNow, clockText, countText, durationText, seenNow } from '../data/clock.ts';
import { ask, isNotFound, may, Refused } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { HISTORY_ENTRIES, historyOfName } from '../data/history.ts';
import {
  gapsOf,
  type Holding,
  type HoldingEnd,
  holdingsOf,
  LOSSES,
  type LogEntry,
} from '../data/lease-history.ts';
import { type ShownLease, shownLease } from '../data/leases.ts';
import { hrefOf, moment } from '../data/route.ts';
import { visible } from '../data/visible.ts';
import { watch } from '../data/watch.ts';
import { CopyCurl } from '../parts/copy.tsx';
import { confirm } from '../parts/dialog.tsx';
import { DrainBar } from '../parts/figures.tsx';
import { Lanes } from '../parts/lanes.tsx';
import { Empty, Fault, NotInTheLog, Shown } from '../parts/notices.tsx';
import { Opaque } from '../parts/opaque.tsx';
import { Ago, Duration, Field, Instant, Name } from '../parts/text.tsx';

const LANES_MAX = 12;

type Waiter = Body<'lease.waiters'>['waiters'][number];

export function LeasePage({ name }: { name: string }) {
  const isPast = moment.value !== null;
  // One feed for both, or after a handover the new holder could be shown as still waiting.
  const feed = useFeed(`lease ${name}`, async (signal) => {
    const [lease, waiters] = await Promise.all([
      leaseOrFree(name, signal),
      isPast ? [] : ask('lease.waiters', { name, limit: 100 }, signal).then((page) => page.waiters),
    ]);
    return { lease, waiters };
  });
  const seen = feed.data?.lease;
  return (
    <>
      <p class="crumb">
        <a href={hrefOf('leases')}>Leases</a>
      </p>
      <h1>
        <Name text={name} />
      </h1>
      <Shown feed={feed}>
        {({ lease, waiters }) =>
          lease === 'free' ? (
            <p class="calm">
              {isPast ? 'No one held it then.' : 'No one holds it now: the next acquire gets it at once.'}
            </p>
          ) : (
            <Held lease={lease} waiters={waiters} again={feed.again} />
          )
        }
      </Shown>
      {isPast ? <NotInTheLog what="Waiters" /> : <Waiters waiters={feed.data?.waiters ?? []} />}
      {seen !== undefined && <History name={name} seq={seen === 'free' ? 0 : seen.seq} />}
    </>
  );
}

/** The lease, or `'free'` when no one holds the name. */
async function leaseOrFree(name: string, signal: AbortSignal): Promise<ShownLease | 'free'> {
  try {
    return shownLease(await ask('lease.get', { name }, signal), undefined, seenNow());
  } catch (fault) {
    if (isNotFound(fault)) return 'free';
    throw fault;
  }
}

function Held({
  lease,
  waiters,
  again,
}: {
  lease: ShownLease;
  waiters: readonly Waiter[];
  again: () => void;
}) {
  const { name, holder, lease_seq: leaseSeq } = lease;
  return (
    <>
      <p class="lead">
        <Name text={holder} /> holds it since <Instant at={lease.acquired_at} />, under number{' '}
        <b class="figure">{leaseSeq}</b>. It ends at <Instant at={lease.expires_at} /> unless it is renewed
        {waiters.length === 0
          ? '.'
          : `; ${waiters.length === 1 ? 'one caller waits' : `${waiters.length} callers wait`} for it.`}
      </p>
      <dl class="card">
        <Field label="Left">
          <DrainBar remainingMs={lease.remaining_ms} seenMs={lease.seenMs} ttlMs={lease.ttlMs} />
        </Field>
        <Field label="Held for">
          <Ago at={lease.acquired_at} />
        </Field>
        <Field label="lease_seq">
          <span class="figure">{leaseSeq}</span>
        </Field>
        <Field label="Last entry">
          <span class="figure">{lease.seq}</span>
        </Field>
      </dl>
      {lease.metadata !== undefined && <Opaque label="Metadata" value={lease.metadata} />}
      <div class="actions">
        {may('v1:write') && (
          <button type="button" onClick={() => askToGiveWay(lease)}>
            Ask to give way…
          </button>
        )}
        {may('v1:admin') && (
          <button type="button" class="danger" onClick={() => askToBreak(lease, waiters, again)}>
            Break…
          </button>
        )}
        <CopyCurl op="lease.get" request={{ name }} />
      </div>
    </>
  );
}

function askToGiveWay({ name, holder }: ShownLease): void {
  confirm({
    title: `Ask ${visible(holder)} to give way?`,
    says: (
      <ul>
        <li>
          <Name text={holder} /> is told over its live connection, with your reason. Whether it releases the
          lease is its own decision.
        </li>
        <li>Nothing changes, and nothing is written to the log. To end the lease in any case, break it.</li>
      </ul>
    ),
    action: 'Ask the holder',
    reason: 'Why? Sent to the holder.',
    run: async (reason) => {
      const { told } = await ask('lease.ask', { name, reason });
      if (!told) throw new Error('The holder could not be told: it has no live connection to this server.');
      return `${visible(holder)} was told. This page shows when it releases the lease.`;
    },
  });
}

function askToBreak(lease: ShownLease, waiters: readonly Waiter[], again: () => void): void {
  const { name, holder, lease_seq: leaseSeq } = lease;
  const next = waiters.find(({ blocked_by: blockers }) => blockers.every((each) => each === name));
  confirm({
    title: `Break ${visible(name)}?`,
    says: (
      <ul>
        <li>
          The lease of <Name text={holder} /> under number <b class="figure">{leaseSeq}</b> ends at once. Only
          this grant: if another holder has it by then, nothing happens.
        </li>
        <li>
          {next === undefined ? (
            'No waiting caller can have it, so the name becomes free.'
          ) : (
            <>
              <Name text={next.holder} /> is first in line and gets it.
            </>
          )}
        </li>
        <li>
          <Name text={holder} /> is told over its connection, but its process is not stopped. Writes it still
          sends under <b class="figure">{leaseSeq}</b> are refused.
        </li>
      </ul>
    ),
    action: 'Break the lease',
    isDangerous: true,
    reason: 'Why? Recorded in the log.',
    run: async (reason) => {
      await ask('lease.break', { name, reason, lease_seq: leaseSeq });
      again();
    },
  });
}

function Waiters({ waiters }: { waiters: readonly Waiter[] }) {
  if (waiters.length === 0) return null;
  return (
    <section>
      <h2>
        In line <span class="count">{waiters.length === 100 ? 'the first 100' : waiters.length}</span>
      </h2>
      <div class="scroll" tabIndex={0} role="group" aria-label="Waiters">
        <table>
          <thead>
            <tr>
              <th scope="col" class="num">
                Place
              </th>
              <th scope="col">Holder</th>
              <th scope="col">Waits for</th>
              <th scope="col">Blocked by</th>
              <th scope="col" class="num">
                Since
              </th>
              <th scope="col" class="num">
                Gives up in
              </th>
            </tr>
          </thead>
          <tbody>
            {waiters.map(
              (
                { holder, names, blocked_by: blockers, waiting_since: since, remaining_ms: leftMs },
                index,
              ) => (
                <tr key={`${holder} ${since}`}>
                  <td class="num figure">{index + 1}</td>
                  <th scope="row">
                    <Name text={holder} />
                  </th>
                  <td class="names">{listed(names)}</td>
                  <td class="names">{listed(blockers)}</td>
                  <td class="num">
                    <Ago at={since} />
                  </td>
                  <td class="num">
                    <Duration ms={leftMs} />
                  </td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function listed(names: readonly string[]) {
  return names.map((each, index) => (
    <span key={each}>
      {index > 0 && ', '}
      <a class="namelink" href={hrefOf('leases', each)}>
        <Name text={each} />
      </a>
    </span>
  ));
}

function History({ name, seq }: { name: string; seq: number }) {
  const end = watch.value?.status.seq ?? null;
  const feed = useFeed(
    end === null ? null : `history ${name} ${seq} ${moment.value === null ? '' : end}`,
    (signal) => historyOfName(name, signal),
    // A held name has a new entry with every renewal, which triggers a request.
    60_000,
  );
  // The last drawing stays until the next one arrives.
  const last = useRef(feed.data);
  last.current = feed.data ?? last.current;
  const shown = last.current;
  if (shown === null) return feed.fault instanceof Refused ? <Fault fault={feed.fault} /> : null;
  return <Holdings entries={shown.entries} isWhole={shown.isWhole} name={name} />;
}

const TONES: Readonly<Record<HoldingEnd, string>> = {
  live: 'held',
  released: 'ok',
  'session ended': 'ok',
  expired: 'bad',
  broken: 'bad',
  superseded: 'warn',
  wiped: 'bad',
  restored: 'bad',
};

function Holdings({
  entries,
  isWhole,
  name,
}: {
  entries: readonly LogEntry[];
  isWhole: boolean;
  name: string;
}) {
  const holdings = holdingsOf(entries);
  const nowMs = authorityNow();
  const holders = [...new Set(holdings.map(({ holder }) => holder))].slice(-LANES_MAX);
  return (
    <section>
      <h2>
        Holders{' '}
        <span class="count">
          {isWhole ? 'since the log begins' : `in the last ${countText(HISTORY_ENTRIES)} entries`}
        </span>
      </h2>
      {holdings.length === 0 ? (
        <Empty>No grant of this name is in that part of the log.</Empty>
      ) : (
        <>
          <Lanes
            label={`Holders of ${visible(name)} over time`}
            untilMs={nowMs}
            lanes={holders.map((holder) => ({
              label: visible(holder),
              spans: holdings
                .filter((holding) => holding.holder === holder)
                .map((holding) => ({
                  fromMs: holding.fromMs,
                  toMs: holding.toMs ?? nowMs,
                  tone: TONES[holding.end],
                  says: `${visible(holder)} under ${holding.leaseSeq}, ${endText(holding)}`,
                  ticks: holding.renewals,
                  isLost: LOSSES.has(holding.end),
                })),
            }))}
          />
          <ol class="events" reversed>
            {[...holdings].reverse().map((holding) => (
              <HoldingLine key={holding.leaseSeq} holding={holding} />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function HoldingLine({ holding }: { holding: Holding }) {
  const gaps = gapsOf(holding);
  return (
    <li class={LOSSES.has(holding.end) ? 'bad' : ''}>
      <Instant at={holding.fromMs} /> <Name text={holding.holder} /> under{' '}
      <b class="figure">{holding.leaseSeq}</b>, {endText(holding)}
      {gaps !== null && (
        <span class="soft">
          {' '}
          · renewed {holding.renewals.length === 1 ? 'once' : `${holding.renewals.length} times`}, every{' '}
          {durationText(gaps.meanMs)}, longest gap {durationText(gaps.longestMs)}
        </span>
      )}
    </li>
  );
}

function endText({ end, fromMs, toMs, reason, renewals }: Holding): string {
  if (toMs === null) return 'still held';
  const after = durationText(toMs - fromMs);
  const silent = durationText(toMs - (renewals.at(-1) ?? fromMs));
  switch (end) {
    case 'expired':
      return `lost after ${after}: it expired at ${clockText(toMs)}, ${silent} after its last sign of life`;
    case 'broken':
      return `lost after ${after}: broken${reason === null ? '' : `, “${visible(reason)}”`}`;
    case 'superseded':
      return `lost after ${after}: a new grant took its place`;
    case 'wiped':
      return `lost after ${after}: wiped by an orchestrator that started`;
    case 'session ended':
      return `given back after ${after}: its session ended`;
    case 'restored':
      return `lost after ${after}: the log was restored from a backup`;
    default:
      return `released after ${after}`;
  }
}
