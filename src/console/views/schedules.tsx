/** **Schedules**: when each is due next and the outcome of the last time; fire, pause, edit. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Body, Json, type Requests } from '../../browser.ts';
import { clockText } from '../data/clock.ts';
import { ask, may } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { intervalText } from '../data/interval-text.ts';
import { hrefOf } from '../data/route.ts';
import { visible } from '../data/visible.ts';
import { CopyCurl } from '../parts/copy.tsx';
import { confirm } from '../parts/dialog.tsx';
import { fieldText, indented } from '../parts/json-text.ts';
import { Empty, Fault, Shown } from '../parts/notices.tsx';
import { Opaque } from '../parts/opaque.tsx';
import { Ago, Field, Instant, Name, NameLink, State } from '../parts/text.tsx';

type Schedule = Body<'schedule.list'>['schedules'][number];
type Put = Requests['schedule.put'];

export function SchedulesPage() {
  const [isAdding, setAdding] = useState(false);
  const feed = useFeed('schedules', (signal) => ask('schedule.list', { limit: 200 }, signal), 4_000);
  return (
    <>
      <h1>Schedules</h1>
      {may('v1:write') && (
        <div class="actions">
          <button type="button" onClick={() => setAdding(true)}>
            New…
          </button>
        </div>
      )}
      {isAdding && (
        <EditDialog
          schedule={null}
          onClose={() => {
            setAdding(false);
            feed.again();
          }}
        />
      )}
      <Shown feed={feed}>
        {({ schedules, next_cursor: next }) => (
          <>
            {schedules.length === 0 ? (
              <Empty>There is no schedule.</Empty>
            ) : (
              <ScheduleTable schedules={schedules} />
            )}
            {next !== undefined && <p class="soft">Only the first 200 are shown.</p>}
          </>
        )}
      </Shown>
    </>
  );
}

function ScheduleTable({ schedules }: { schedules: readonly Schedule[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Schedules">
      <table>
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">When</th>
            <th scope="col">Queue</th>
            <th scope="col">Next</th>
            <th scope="col">Last</th>
            <th scope="col">Last task</th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((schedule) => (
            <tr key={schedule.name}>
              <th scope="row">
                <NameLink view="schedules" text={schedule.name} /> {schedule.paused && <State of="paused" />}
              </th>
              <td>{whenText(schedule)}</td>
              <td>
                <NameLink view="queues" text={schedule.queue} />
              </td>
              <td>
                {schedule.next_at === null ? <span class="zero">–</span> : <Instant at={schedule.next_at} />}
              </td>
              <td>
                {schedule.last_due_at === null ? (
                  <span class="zero">never</span>
                ) : (
                  <>
                    <Ago at={schedule.last_due_at} /> ago
                  </>
                )}
              </td>
              <td>
                {schedule.last_task_id === null ? (
                  <span class="zero">–</span>
                ) : (
                  <NameLink view="tasks" text={schedule.last_task_id} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function whenText({ cron, every_ms: everyMs, timezone }: Schedule) {
  if (cron === undefined) return `every ${intervalText(everyMs ?? 0)}`;
  return (
    <>
      <code>{cron}</code> <span class="soft">{timezone}</span>
    </>
  );
}

export function SchedulePage({ name }: { name: string }) {
  const [isEditing, setEditing] = useState(false);
  const feed = useFeed(`schedule ${name}`, async (signal) => {
    const schedule = await ask('schedule.get', { name }, signal);
    const { last_task_id: last } = schedule;
    const task = last === null ? null : await ask('task.get', { task_id: last }, signal).catch(() => null);
    return { schedule, last: task };
  });
  return (
    <>
      <p class="crumb">
        <a href={hrefOf('schedules')}>Schedules</a>
      </p>
      <h1>
        <Name text={name} /> {feed.data?.schedule.paused && <State of="paused" />}
      </h1>
      <Shown feed={feed}>
        {({ schedule, last }) => (
          <>
            <p class="lead">
              {schedule.paused
                ? 'Paused: nothing is due, and nothing is caught up when it is resumed.'
                : schedule.next_at === null
                  ? 'It has no due time left.'
                  : `It is due next at ${clockText(Date.parse(schedule.next_at))}.`}{' '}
              {last !== null && (
                <>
                  The last task is <State of={last.state} />.
                </>
              )}
            </p>
            <dl class="card">
              <Field label="When">{whenText(schedule)}</Field>
              <Field label="Queue">
                <NameLink view="queues" text={schedule.queue} />
              </Field>
              <Field label="While one runs">
                {schedule.overlap === 'skip' ? 'the next is skipped' : 'the next starts too'}
              </Field>
              <Field label="After downtime">
                {
                  {
                    one: 'the latest missed time fires once',
                    none: 'nothing is caught up',
                    all: 'all missed times fire',
                  }[schedule.catch_up]
                }
              </Field>
              <Field label="Last due">
                {schedule.last_due_at === null ? 'never' : <Instant at={schedule.last_due_at} />}
              </Field>
              <Field label="Last task">
                {schedule.last_task_id === null ? (
                  '–'
                ) : (
                  <NameLink view="tasks" text={schedule.last_task_id} />
                )}
              </Field>
            </dl>
            <div class="actions">
              {may('v1:write') && (
                <>
                  <button type="button" onClick={() => fire(schedule, feed.again)}>
                    Fire…
                  </button>
                  <button type="button" onClick={() => pause(schedule, feed.again)}>
                    {schedule.paused ? 'Resume…' : 'Pause…'}
                  </button>
                  <button type="button" onClick={() => setEditing(true)}>
                    Edit…
                  </button>
                  <button type="button" class="danger" onClick={() => remove(schedule)}>
                    Remove…
                  </button>
                </>
              )}
              <CopyCurl op="schedule.get" request={{ name }} />
            </div>
            {isEditing && (
              <EditDialog
                schedule={schedule}
                onClose={() => {
                  setEditing(false);
                  feed.again();
                }}
              />
            )}
            <section>
              <h2>Next runs</h2>
              {schedule.next_five.length === 0 ? (
                <Empty>None.</Empty>
              ) : (
                <ol class="events">
                  {schedule.next_five.map((at) => (
                    <li key={at}>
                      <Instant at={at} />
                    </li>
                  ))}
                </ol>
              )}
            </section>
            <Opaque label="Payload of its tasks" value={schedule.payload} />
          </>
        )}
      </Shown>
    </>
  );
}

function fire({ name, queue }: Schedule, again: () => void): void {
  confirm({
    title: `Fire ${visible(name)} now?`,
    says: (
      <ul>
        <li>
          One task is created in <Name text={queue} /> at once, whatever else runs, even if the schedule is
          paused.
        </li>
        <li>Its due times stay as they are.</li>
      </ul>
    ),
    action: 'Fire it',
    run: async () => {
      await ask('schedule.fire', { name });
      again();
    },
  });
}

function pause({ name, paused }: Schedule, again: () => void): void {
  confirm({
    title: paused ? `Resume ${visible(name)}?` : `Pause ${visible(name)}?`,
    says: paused ? (
      <p>It fires at its first due time from now on. What was missed is not caught up.</p>
    ) : (
      <p>Nothing is due until it is resumed. Tasks that exist are not touched.</p>
    ),
    action: paused ? 'Resume the schedule' : 'Pause the schedule',
    run: async () => {
      await ask(paused ? 'schedule.resume' : 'schedule.pause', { name });
      again();
    },
  });
}

function remove({ name }: Schedule): void {
  confirm({
    title: `Remove ${visible(name)}?`,
    says: <p>It no longer fires. Tasks that it created stay.</p>,
    action: 'Remove the schedule',
    isDangerous: true,
    run: async () => {
      await ask('schedule.delete', { name });
      location.hash = hrefOf('schedules');
    },
  });
}

/** Edits a schedule as the server's JSON: every field can be set, and the server reports errors. */
function EditDialog({ schedule, onClose }: { schedule: Schedule | null; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState(schedule?.name ?? '');
  const [text, setText] = useState(schedule === null ? NEW : editable(schedule));
  const [fault, setFault] = useState<unknown>(null);
  const fields = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // The browser puts the cursor at the end, which scrolls the due times out of sight.
    fields.current?.setSelectionRange(0, 0);
    fields.current?.scrollTo(0, 0);
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setFault(null);
    try {
      await ask('schedule.put', { ...fieldsOf(text), name } as Put);
      dialog.current?.close();
    } catch (refusal) {
      setFault(refusal);
    }
  };
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="edit-title" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="edit-title">{schedule === null ? 'New schedule' : `Edit ${visible(schedule.name)}`}</h2>
        <p>It fires only at times after this change. A payload keeps its text.</p>
        {schedule === null && (
          <label class="stacked">
            Name
            <input value={name} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
          </label>
        )}
        <label class="stacked">
          Fields, as JSON
          <textarea
            ref={fields}
            class="code"
            rows={14}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <Fault fault={fault} />
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={name === ''}>
            Save the schedule
          </button>
        </div>
      </form>
    </dialog>
  );
}

const NEW = `{
  "cron": "0 3 * * *",
  "timezone": "UTC",
  "queue": "reports",
  "payload": {}
}`;

const EDITABLE = [
  'cron',
  'every_ms',
  'timezone',
  'queue',
  'payload',
  'priority',
  'retry',
  'max_attempts',
  'key',
  'overlap',
  'catch_up',
  'jitter_ms',
  'starts_at',
  'ends_at',
  'paused',
] as const;

function editable(schedule: Schedule): string {
  // Null fields are unset, or a damaged payload, which must not be saved as the value null.
  const fields = EDITABLE.filter((field) => (schedule[field] ?? null) !== null).map((field) => {
    const value: unknown = schedule[field];
    return `${JSON.stringify(field)}:${value instanceof Json ? value.text() : JSON.stringify(value)}`;
  });
  return indented(`{${fields.join(',')}}`);
}

/** Passes the payload on as written and parses all other fields. */
function fieldsOf(text: string): Record<string, unknown> {
  const fields = JSON.parse(text) as Record<string, unknown>;
  const payload = fieldText(text, 'payload');
  return payload === null ? fields : { ...fields, payload: Json.text(payload) };
}
