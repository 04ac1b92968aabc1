/** **Log**: entries as they become durable, filtered by type, and from any position on. */
import type { EntryRecord, EntryType } from '../../browser.ts';
import { clockText, isPaused } from '../data/clock.ts';
import { useLogTail } from '../data/log-tail.ts';
import { go, hrefAt, hrefOf, moment, route } from '../data/route.ts';
import { watch } from '../data/watch.ts';
import { EntryFields } from '../parts/entry-fields.tsx';
import { Empty, Fault } from '../parts/notices.tsx';

const GROUPS: readonly (readonly [says: string, types: readonly EntryType[]])[] = [
  ['everything', []],
  ['leases', ['NameLeased', 'NameReleased', 'NameExpired', 'NameBroken', 'NamesWiped']],
  ['losses', ['LeaseExpired', 'TaskCancelled', 'TaskDead', 'NameExpired', 'NameBroken', 'NamesWiped']],
  [
    'tasks',
    [
      'TaskCreated',
      'LeaseGranted',
      'TaskCompleted',
      'TaskFailed',
      'TaskReleased',
      'TaskDead',
      'LeaseExpired',
    ],
  ],
  ['writes', ['ObjectWritten', 'ObjectDeleted']],
  ['sessions', ['IntentAccepted', 'SessionChanged']],
  [
    'operators',
    ['QueuePaused', 'QueueResumed', 'NameBroken', 'TaskCancelRequested', 'TaskChanged', 'EpochStarted'],
  ],
];

export function LogPage() {
  const { types: typesText = '', from: fromText = '' } = route.value.query;
  const types = typesText === '' ? [] : (typesText.split(',') as EntryType[]);
  const from = /^\d{1,16}$/.test(fromText) ? Math.max(1, Number(fromText)) : null;
  const status = watch.value?.status;
  const range = status === undefined ? null : { firstSeq: status.first_seq, endSeq: status.seq };
  const isPast = moment.value !== null;
  const { entries, dropped, fault } = useLogTail(types, from, range, isPast);
  return (
    <>
      <h1>
        Log{' '}
        <span class="count">
          {from !== null
            ? `from ${from} on`
            : isPast
              ? 'up to this moment, newest first'
              : isPaused.value
                ? 'paused'
                : 'as it grows, newest first'}
        </span>
      </h1>
      <form class="filter" role="search" onSubmit={submit}>
        <label class="inline">
          From seq
          <input
            id="search"
            name="from"
            inputMode="numeric"
            pattern="[0-9]*"
            size={12}
            defaultValue={fromText}
            placeholder="live"
          />
        </label>
        <button type="submit">Go</button>
        {from !== null && <a href={hrefOf('log', null, { types: typesText })}>Back to the end</a>}
      </form>
      <p class="hints" role="group" aria-label="Types of entries">
        {GROUPS.map(([says, group]) => (
          <a
            key={says}
            href={hrefOf('log', null, { types: group.join(), from: fromText })}
            aria-current={group.join() === typesText ? 'true' : undefined}
          >
            {says}
          </a>
        ))}
      </p>
      <Fault fault={fault} />
      {entries.length === 0 ? (
        <Empty>No matching entry among those searched.{isPast ? '' : ' New ones appear here.'}</Empty>
      ) : (
        <ol class="log" aria-label="Entries">
          {(from === null ? entries : [...entries].reverse()).map((entry) => (
            <EntryRow key={entry.seq} entry={entry} />
          ))}
        </ol>
      )}
      {dropped > 0 && <p class="soft">{dropped} older ones are not shown any more.</p>}
    </>
  );

  function submit(event: Event): void {
    event.preventDefault();
    const field = new FormData(event.currentTarget as HTMLFormElement).get('from');
    go(hrefOf('log', null, { types: typesText, from: String(field ?? '').trim() }));
  }
}

const LOUD: ReadonlySet<string> = new Set([
  'LeaseExpired',
  'TaskCancelled',
  'TaskDead',
  'TaskFailed',
  'NameExpired',
  'NameBroken',
  'NamesWiped',
]);
function EntryRow({ entry }: { entry: EntryRecord }) {
  const { seq, at, type } = entry;
  return (
    <li class={LOUD.has(type) ? 'loud' : ''}>
      <a class="figure seq" href={hrefAt({ at_seq: seq })} title="Show everything as of this entry">
        {seq}
      </a>
      <time class="figure" dateTime={at} title={at}>
        {clockText(Date.parse(at))}
      </time>
      <span class="type">{type}</span>
      <EntryFields entry={entry} />
    </li>
  );
}
