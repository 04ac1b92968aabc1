/** **Log**: every entry as it becomes durable, by type, and from any position on. */
import type { EntryRecord, EntryType } from '../../browser.ts';
import { clockText, isPaused } from '../data/clock.ts';
import { jsonOf } from '../data/entry-json.ts';
import { useLogTail } from '../data/log-tail.ts';
import { go, hrefOf, route } from '../data/route.ts';
import { visible } from '../data/visible.ts';
import { watch } from '../data/watch.ts';
import { Empty, Fault } from '../parts/notices.tsx';
import { Name, NameLink } from '../parts/text.tsx';

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
  const endSeq = watch.value?.status.seq ?? null;
  const { entries, dropped, fault } = useLogTail(types, from, endSeq);
  return (
    <>
      <h1>
        Log{' '}
        <span class="count">
          {from === null ? (isPaused.value ? 'paused' : 'as it grows, newest first') : `from ${from} on`}
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
        <Empty>No such entry among those looked at. New ones appear here.</Empty>
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

/** Where the subject of an entry has its page. */
const PLACES: Readonly<Record<string, string>> = {
  task_id: 'tasks',
  name: 'leases',
  object_id: 'fences',
  session_id: 'sessions',
  schedule: 'schedules',
  worker_id: 'workers',
  queue: 'queues',
};
const LOUD: ReadonlySet<string> = new Set([
  'LeaseExpired',
  'TaskCancelled',
  'TaskDead',
  'TaskFailed',
  'NameExpired',
  'NameBroken',
  'NamesWiped',
]);
const QUIET = new Set(['seq', 'at', 'type', 'token_sha256', 'names']);

function EntryRow({ entry }: { entry: EntryRecord }) {
  const { seq, at, type, ...fields } = entry as EntryRecord & Record<string, unknown>;
  const shown = Object.entries(fields).filter(
    ([field]) => !QUIET.has(field) || (field === 'names' && !('name' in fields)),
  );
  return (
    <li class={LOUD.has(type) ? 'loud' : ''}>
      <span class="figure seq">{seq}</span>
      <time class="figure" dateTime={at} title={at}>
        {clockText(Date.parse(at))}
      </time>
      <span class="type">{type}</span>
      <span class="fields">
        {shown.map(([field, value]) => (
          <span key={field}>
            <span class="soft">{field}</span>{' '}
            {typeof value === 'string' && field in PLACES ? (
              <NameLink view={PLACES[field]!} text={value} />
            ) : (
              <Name text={shortened(typeof value === 'string' ? value : jsonOf(value))} />
            )}
          </span>
        ))}
      </span>
    </li>
  );
}

const VALUE_MAX = 160;

function shortened(text: string): string {
  return text.length <= VALUE_MAX ? text : `${visible(text.slice(0, VALUE_MAX))}…`;
}
