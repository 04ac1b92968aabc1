/** **Leases**: all live leases by name prefix, with remaining time, holder and number. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { authorityNow, countText } from '../data/clock.ts';
import { useFeed } from '../data/feed.ts';
import {
  endOf,
  groupsOf,
  type LeaseGroup,
  leasePage,
  PAGE_ROWS,
  type ShownLease,
  WHOLE_MAX,
  withGone,
} from '../data/leases.ts';
import { go, hrefOf, moment, route } from '../data/route.ts';
import { visible } from '../data/visible.ts';
import { watch } from '../data/watch.ts';
import { DrainBar } from '../parts/figures.tsx';
import { Empty, Fault, Loading } from '../parts/notices.tsx';
import { Ago, Name, NameLink } from '../parts/text.tsx';
import { useNarrow, Windowed } from '../parts/windowed.tsx';

const ROW = 34;
const TALL_ROW = 54;

export function LeasesPage() {
  const prefix = route.value.query.prefix ?? '';
  const count = watch.value?.status.counts.leases ?? null;
  return (
    <>
      <h1>Leases {count !== null && <span class="count">{countText(count)} live</span>}</h1>
      <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          id="search"
          type="search"
          placeholder="Prefix of a name, such as lease:tuner:"
          aria-label="Prefix of the name"
          value={prefix}
          onInput={(event) => go(hrefOf('leases', null, { prefix: event.currentTarget.value }), true)}
        />
      </form>
      {count === null ? (
        <Loading />
      ) : count > WHOLE_MAX ? (
        <Pages prefix={prefix} />
      ) : (
        <Whole prefix={prefix} />
      )}
    </>
  );
}

/** All leases, grouped by prefix. */
function Whole({ prefix }: { prefix: string }) {
  const known = useRef<ReadonlyMap<string, ShownLease>>(new Map());
  const feed = useFeed(`leases ${prefix}`, async (signal) => {
    const leases: ShownLease[] = [];
    let cursor: string | null = null;
    do {
      const page = await leasePage(prefix, cursor, WHOLE_MAX, known.current, signal);
      leases.push(...page.leases);
      cursor = page.next;
    } while (cursor !== null && leases.length < WHOLE_MAX);
    // Between two earlier moments a missing lease did not end: the displayed moment moved.
    const shown = moment.peek() === null ? withGone(leases, known.current, authorityNow()) : leases;
    known.current = new Map(shown.map((lease) => [lease.name, lease]));
    return shown;
  });
  useEffect(() => {
    known.current = new Map();
  }, [prefix]);
  if (feed.data === null) return feed.fault === null ? <Loading /> : <Fault fault={feed.fault} />;
  if (feed.data.length === 0) {
    return (
      <Empty>
        {prefix === '' ? 'No name is leased now.' : `No leased name begins with ${visible(prefix)}.`}
      </Empty>
    );
  }
  return <LeaseGroups groups={groupsOf(feed.data)} />;
}

type Line = { readonly group: LeaseGroup } | { readonly lease: ShownLease };

function LeaseGroups({ groups }: { groups: readonly LeaseGroup[] }) {
  const isNarrow = useNarrow();
  const height = isNarrow ? TALL_ROW : ROW;
  const lines: Line[] = groups.flatMap((group) => [{ group }, ...group.leases.map((lease) => ({ lease }))]);
  return (
    <div class="leases" role="table" aria-label="Live leases" aria-rowcount={lines.length}>
      <LeaseHead />
      <Windowed
        count={lines.length}
        rowHeight={height}
        row={(index) => {
          const line = lines[index]!;
          if ('lease' in line) return <LeaseRow key={line.lease.name} lease={line.lease} />;
          return <GroupRow key={`group ${line.group.prefix}`} group={line.group} />;
        }}
      />
    </div>
  );
}

function LeaseHead() {
  return (
    <div class="lease-row head" role="row">
      <span role="columnheader">Name</span>
      <span role="columnheader">Left</span>
      <span role="columnheader">Holder</span>
      <span role="columnheader" class="num">
        In line
      </span>
      <span role="columnheader" class="num">
        lease_seq
      </span>
      <span role="columnheader" class="num">
        Held for
      </span>
    </div>
  );
}

function GroupRow({ group }: { group: LeaseGroup }) {
  const { prefix, leases, slots } = group;
  const live = leases.filter(({ goneMs }) => goneMs === null).length;
  return (
    <div class="lease-row group" role="row">
      <span role="cell">
        {prefix === '' ? <span class="soft">other names</span> : <Name text={prefix} />}{' '}
        <span class="soft">{countText(live)}</span>
      </span>
      {slots.length > 0 && (
        <span role="cell" class="slots">
          {slots.map(({ slot, lease }) => (
            <span
              key={slot}
              class={`slot ${lease === null || lease.goneMs !== null ? '' : 'taken'}`}
              title={
                lease === null || lease.goneMs !== null
                  ? `Slot ${slot} is free`
                  : `Slot ${slot}: ${visible(lease.holder)}`
              }
            >
              {slot}
            </span>
          ))}
        </span>
      )}
    </div>
  );
}

function LeaseRow({ lease }: { lease: ShownLease }) {
  const { name, holder, lease_seq: leaseSeq, acquired_at: acquiredAt, goneMs } = lease;
  if (goneMs !== null) {
    const end = endOf(lease, watch.value?.overview?.incidents ?? []);
    return (
      <div class="lease-row gone" role="row">
        <span role="cell">
          <NameLink view="leases" text={name} />
        </span>
        <span role="cell" class={end === 'released' ? 'soft' : 'bad'}>
          {visible(end)}
        </span>
        <span role="cell">
          <Name text={holder} />
        </span>
        <span role="cell" class="num" />
        <span role="cell" class="num figure">
          {leaseSeq}
        </span>
        <span role="cell" class="num" />
      </div>
    );
  }
  const waiters = watch.value?.overview?.lines.find((line) => line.name === name)?.waiters;
  return (
    <div class="lease-row" role="row">
      <span role="cell">
        <NameLink view="leases" text={name} />
      </span>
      <span role="cell">
        <DrainBar remainingMs={lease.remaining_ms} seenMs={lease.seenMs} ttlMs={lease.ttlMs} />
      </span>
      <span role="cell">
        <Name text={holder} />
      </span>
      <span role="cell" class="num figure in-line">
        {waiters}
      </span>
      <span role="cell" class="num figure">
        {leaseSeq}
      </span>
      <span role="cell" class="num">
        <Ago at={acquiredAt} />
      </span>
    </div>
  );
}

/** More than one page: in the server's order; only visible pages are polled. */
function Pages({ prefix }: { prefix: string }) {
  const isNarrow = useNarrow();
  const [pages, setPages] = useState<
    readonly { cursor: string | null; leases: readonly ShownLease[]; next: string | null }[]
  >([]);
  const [reached, setReached] = useState<readonly [number, number]>([0, 0]);
  useEffect(() => setPages([]), [prefix]);
  const rows = pages.flatMap(({ leases }) => leases);
  const last = pages.at(-1);
  const wantsMore = last === undefined || (last.next !== null && reached[1] >= rows.length - PAGE_ROWS / 4);
  const visiblePages = pages
    .map((page, index) => ({
      page,
      index,
      from: pages.slice(0, index).reduce((sum, { leases }) => sum + leases.length, 0),
    }))
    .filter(({ page, from }) => from < reached[1] && from + page.leases.length > reached[0]);
  const wanted = [...visiblePages.map(({ index }) => index), ...(wantsMore ? [pages.length] : [])];
  const feed = useFeed(`pages ${prefix} ${wanted.join()}`, async (signal) => {
    const known = new Map(rows.map((lease) => [lease.name, lease]));
    const next = [...pages];
    for (const index of wanted) {
      const cursor = index === 0 ? null : (next[index - 1]?.next ?? null);
      if (index > 0 && cursor === null) continue;
      next[index] = { cursor, ...(await leasePage(prefix, cursor, PAGE_ROWS, known, signal)) };
    }
    setPages(next);
    return next.length;
  });
  return (
    <div class="leases" role="table" aria-label="Live leases" aria-rowcount={rows.length}>
      <LeaseHead />
      <Fault fault={feed.fault} />
      <Windowed
        count={rows.length}
        rowHeight={isNarrow ? TALL_ROW : ROW}
        row={(index) => <LeaseRow key={rows[index]!.name} lease={rows[index]!} />}
        onReach={(first, end) =>
          setReached((before) => (before[0] === first && before[1] === end ? before : [first, end]))
        }
      />
      {last?.next === null ? null : (
        <p class="empty">{countText(rows.length)} are loaded; more come as you scroll.</p>
      )}
    </div>
  );
}
