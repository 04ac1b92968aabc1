/** The fields of a log entry; those that name a task, lease and so on link to its page. */
import type { EntryRecord } from '../../browser.ts';
import { jsonOf } from '../data/entry-json.ts';
import { visible } from '../data/visible.ts';
import { Name, NameLink } from './text.tsx';

/** The view of each field that names a subject. */
const PLACES: Readonly<Record<string, string>> = {
  task_id: 'tasks',
  name: 'leases',
  object_id: 'fences',
  session_id: 'sessions',
  schedule: 'schedules',
  worker_id: 'workers',
  queue: 'queues',
};
const QUIET = new Set(['seq', 'at', 'type', 'token_sha256', 'names']);
const VALUE_MAX = 160;

export function EntryFields({ entry }: { entry: EntryRecord }) {
  const fields = entry as EntryRecord & Record<string, unknown>;
  const shown = Object.entries(fields).filter(
    ([field]) => !QUIET.has(field) || (field === 'names' && !('name' in fields)),
  );
  return (
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
  );
}

function shortened(text: string): string {
  return text.length <= VALUE_MAX ? text : `${visible(text.slice(0, VALUE_MAX))}…`;
}
