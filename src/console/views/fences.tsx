/** **Fences**: objects with their version and fence, and the receipts of writes that fences refused. */
import type { Body } from '../../browser.ts';
import { durationText } from '../data/clock.ts';
import { ask, isNotFound } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { historyOfName } from '../data/history.ts';
import { holdingsOf } from '../data/lease-history.ts';
import { go, hrefOf, moment, route } from '../data/route.ts';
import { watch } from '../data/watch.ts';
import { CopyCurl } from '../parts/copy.tsx';
import { Empty, NotInTheLog, Shown } from '../parts/notices.tsx';
import { Opaque } from '../parts/opaque.tsx';
import { Field, Instant, Name, NameLink, State } from '../parts/text.tsx';

type Receipt = Body<'receipt.list'>['receipts'][number];
type ListedObject = Body<'object.list'>['objects'][number];

const OBJECTS = 200;
/** For how many objects the list of all receipts shows how late each write was. */
const LATENESS_OBJECTS = 3;

export function FencesPage() {
  const prefix = route.value.query.prefix ?? '';
  const isPast = moment.value !== null;
  const receipts = useFeed(
    isPast ? null : 'receipts',
    async (signal) => (await ask('receipt.list', { limit: 100 }, signal)).receipts,
  );
  const named = [...new Set(receipts.data?.map(({ object_id: id }) => id))].slice(0, LATENESS_OBJECTS);
  const ends = useLeaseEnds(named, receipts.data?.[0]?.at ?? '');
  const objects = useFeed(
    `objects ${prefix}`,
    (signal) => ask('object.list', { limit: OBJECTS, ...(prefix === '' ? {} : { prefix }) }, signal),
    5_000,
  );
  return (
    <>
      <h1>Fences</h1>
      <section>
        <h2>
          Refused writes{' '}
          {!isPast && <span class="count">newest first; kept in memory since this server started</span>}
        </h2>
        {isPast ? (
          <NotInTheLog what="Refused writes" />
        ) : (
          <Shown feed={receipts}>
            {(list) =>
              list.length === 0 ? (
                <Empty>No write was refused by a fence.</Empty>
              ) : (
                <Receipts receipts={list} ends={ends} isNamed />
              )
            }
          </Shown>
        )}
      </section>
      <section>
        <h2>Objects</h2>
        <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
          <input
            id="search"
            type="search"
            placeholder="Prefix of a name"
            aria-label="Prefix of the name"
            value={prefix}
            onInput={(event) => go(hrefOf('fences', null, { prefix: event.currentTarget.value }), true)}
          />
        </form>
        <Shown feed={objects}>
          {({ objects: list, next_cursor: next }) => (
            <>
              {list.length === 0 ? (
                <Empty>No object is stored{prefix === '' ? '' : ' under this prefix'}.</Empty>
              ) : (
                <Objects objects={list} />
              )}
              {next !== undefined && <p class="soft">There are more; give a prefix.</p>}
            </>
          )}
        </Shown>
      </section>
    </>
  );
}

function Objects({ objects }: { objects: readonly ListedObject[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Objects">
      <table>
        <thead>
          <tr>
            <th scope="col">Object</th>
            <th scope="col" class="num">
              Version
            </th>
            <th scope="col" class="num">
              Written under
            </th>
            <th scope="col" class="num">
              Fence
            </th>
            <th scope="col">Lease</th>
          </tr>
        </thead>
        <tbody>
          {objects.map(({ object_id: id, version, lease_seq: leaseSeq, fence, held }) => (
            <tr key={id}>
              <th scope="row">
                <NameLink view="fences" text={id} />
              </th>
              <td class="num figure">{version}</td>
              <td class="num figure">{leaseSeq}</td>
              <td class="num figure">{fence}</td>
              <td>{held ? <State of="LEASED" says="held" /> : <State of="STOPPED" says="free" />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * When the lease with each number ended, from the history of the names. A history costs the server a scan of the end of
 * the log, so it is read again only after another refused write.
 */
function useLeaseEnds(names: readonly string[], newest: string): ReadonlyMap<number, number> {
  const feed = useFeed(
    watch.value === null || newest === '' ? null : `ends ${JSON.stringify(names)} ${newest}`,
    async (signal) => {
      const ends = new Map<number, number>();
      for (const name of names) {
        const { entries } = await historyOfName(name, signal);
        for (const { leaseSeq, toMs } of holdingsOf(entries)) if (toMs !== null) ends.set(leaseSeq, toMs);
      }
      return ends;
    },
    600_000,
  );
  return feed.data ?? new Map();
}

/** `ends` maps a lease's number to when it ended, if known. */
function Receipts({
  receipts,
  ends,
  isNamed = false,
}: {
  receipts: readonly Receipt[];
  ends: ReadonlyMap<number, number>;
  isNamed?: boolean;
}) {
  return (
    <ol class="events">
      {receipts.map((receipt) => (
        <li key={`${receipt.at} ${receipt.requestId}`} class="bad">
          <Instant at={receipt.at} />{' '}
          {isNamed && (
            <>
              <NameLink view="fences" text={receipt.object_id} />:{' '}
            </>
          )}
          {receiptText(receipt, ends)}
          {receipt.holder_id !== null && (
            <>
              {' '}
              From <Name text={receipt.holder_id} />.
            </>
          )}{' '}
          <span class="soft">
            {receipt.code}
            {receipt.requestId !== null && ` · request ${receipt.requestId}`}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** "Arrived 2.3 s late, under 17; the fence is 20." */
function receiptText(receipt: Receipt, ends: ReadonlyMap<number, number>): string {
  const { code, presented_lease_seq: presented, current_fence: fence, at } = receipt;
  if (code === 'WRITE_UNFENCED' || presented === null) return `Came without a lease; the fence is ${fence}.`;
  const endedMs = ends.get(presented);
  const late = endedMs === undefined ? '' : `arrived ${durationText(Date.parse(at) - endedMs)} late, `;
  const text = `${late}under ${presented}; the fence is ${fence}.`;
  return text[0]!.toUpperCase() + text.slice(1);
}

export function FencePage({ id }: { id: string }) {
  const object = useFeed(`object ${id}`, async (signal) => {
    try {
      return await ask('object.get', { object_id: id }, signal);
    } catch (fault) {
      if (isNotFound(fault)) return 'none';
      throw fault;
    }
  });
  const lease = useFeed(`lease of ${id}`, async (signal) => {
    try {
      return await ask('lease.get', { name: id }, signal);
    } catch (fault) {
      if (isNotFound(fault)) return 'free';
      throw fault;
    }
  });
  const isPast = moment.value !== null;
  const receipts = useFeed(isPast ? null : `receipts ${id}`, async (signal) => {
    return (await ask('receipt.list', { object_id: id, limit: 100 }, signal)).receipts;
  });
  const ends = useLeaseEnds([id], receipts.data?.[0]?.at ?? '');
  return (
    <>
      <p class="crumb">
        <a href={hrefOf('fences')}>Fences</a>
      </p>
      <h1>
        <Name text={id} />
      </h1>
      <Shown feed={object}>
        {(seen) =>
          seen === 'none' ? (
            <p class="lead">No object {isPast ? 'was' : 'is'} stored under this name.</p>
          ) : (
            <>
              <dl class="card">
                <Field label="Version">
                  <span class="figure">{seen.version}</span>
                </Field>
                <Field label="Written under">
                  <span class="figure">{seen.lease_seq}</span>
                </Field>
                <Field label="Entry">
                  <a class="figure" href={hrefOf('log', null, { from: String(seen.seq) })}>
                    {seen.seq}
                  </a>
                </Field>
                <Field label="Its lease">
                  <NameLink view="leases" text={id} />
                  {lease.data !== null && (
                    <span class="soft">
                      {lease.data === 'free' ? (
                        ', not held'
                      ) : (
                        <>
                          , held by <Name text={lease.data.holder} /> under {lease.data.lease_seq}
                        </>
                      )}
                    </span>
                  )}
                </Field>
              </dl>
              <Opaque label="Value" value={seen.value} />
              <div class="actions">
                <CopyCurl op="object.get" request={{ object_id: id }} />
              </div>
            </>
          )
        }
      </Shown>
      <section>
        <h2>Refused writes</h2>
        {isPast ? (
          <NotInTheLog what="Refused writes" />
        ) : (
          <Shown feed={receipts}>
            {(list) =>
              list.length === 0 ? (
                <Empty>No write to it was refused.</Empty>
              ) : (
                <Receipts receipts={list} ends={ends} />
              )
            }
          </Shown>
        )}
      </section>
    </>
  );
}
