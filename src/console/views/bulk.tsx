/**
 * Bulk actions on everything that matches a search. First a dry run shows what would happen, then the user gives a
 * reason, then the action runs call by call, showing its progress and the code of every refused task. The run starts
 * with the cursor of the dry run, so tasks created since are left alone.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { countText } from '../data/clock.ts';
import { ask } from '../data/connection.ts';
import type { TaskQueryFilter } from '../data/task-query.ts';
import { visible } from '../data/visible.ts';
import { Fault } from '../parts/notices.tsx';
import { NameLink } from '../parts/text.tsx';

type Action = 'requeue' | 'cancel' | 'kill' | 'purge';

interface Tally {
  readonly matched: number;
  /** How many were changed, or would be in a dry run. */
  readonly done: number;
  readonly refused: readonly { readonly task_id: string; readonly code: string }[];
}

const NONE: Tally = { matched: 0, done: 0, refused: [] };
/** A dry run stops after this many tasks; the exact number is then not needed. */
const LOOK_MAX = 100_000;

const ACTIONS: Readonly<Record<Action, { verb: string; says: string; done: string }>> = {
  requeue: {
    verb: 'Requeue',
    says: 'Each ended task gets a new task with a copy of its payload; the old one stays as it is. Tasks that were requeued before are left out.',
    done: 'requeued',
  },
  cancel: {
    verb: 'Cancel',
    says: 'Waiting tasks end as DEAD. Workers of running ones are told to stop and may still complete in time; the tasks are never leased again.',
    done: 'cancelled',
  },
  kill: {
    verb: 'Kill',
    says: 'They end as DEAD at once, running ones too: what their workers still finish is refused.',
    done: 'killed',
  },
  purge: {
    verb: 'Forget',
    says: 'Ended tasks are forgotten at once, with payload, result and reason. Their ids are free again. This cannot be undone.',
    done: 'forgotten',
  },
};

export function BulkActions({ filter, onDone }: { filter: TaskQueryFilter; onDone: () => void }) {
  const [action, setAction] = useState<Action | null>(null);
  const ended = filter.state === 'COMPLETED' || filter.state === 'FAILED' || filter.state === 'DEAD';
  const fitting = (Object.keys(ACTIONS) as Action[]).filter((each) =>
    filter.state === undefined ? true : (each === 'requeue' || each === 'purge') === ended,
  );
  return (
    <div class="actions" role="group" aria-label="Everything that matches">
      <span class="soft">Everything that matches:</span>
      {fitting.map((each) => (
        <button key={each} type="button" onClick={() => setAction(each)}>
          {ACTIONS[each].verb}…
        </button>
      ))}
      {action !== null && (
        <BulkDialog
          action={action}
          filter={filter}
          onClose={() => {
            setAction(null);
            onDone();
          }}
        />
      )}
    </div>
  );
}

type Step = 'looking' | 'ready' | 'running' | 'done';

function BulkDialog({
  action,
  filter,
  onClose,
}: {
  action: Action;
  filter: TaskQueryFilter;
  onClose: () => void;
}) {
  const { verb, says, done } = ACTIONS[action];
  const dialog = useRef<HTMLDialogElement>(null);
  const ending = useRef(new AbortController());
  const [step, setStep] = useState<Step>('looking');
  const [reason, setReason] = useState('');
  const [planned, setPlanned] = useState(NONE);
  const [isCut, setCut] = useState(false);
  const [tally, setTally] = useState(NONE);
  const [fault, setFault] = useState<unknown>(null);
  const first = useRef<string | undefined>(undefined);
  const isStopping = useRef(false);

  /** Runs all calls, one after the other. */
  const run = async (dryRun: boolean, words: string, told: (tally: Tally) => void): Promise<void> => {
    let cursor = dryRun ? undefined : first.current;
    let sum = NONE;
    for (;;) {
      const answer = await ask(
        'task.bulk',
        { action, filter, reason: words, dry_run: dryRun, ...(cursor === undefined ? {} : { cursor }) },
        ending.current.signal,
      );
      if (dryRun) first.current ??= answer.cursor;
      sum = {
        matched: sum.matched + answer.matched,
        done: sum.done + (dryRun ? answer.task_ids.length : answer.changed),
        refused: [...sum.refused, ...answer.refused],
      };
      told(sum);
      cursor = answer.next_cursor;
      if (cursor === undefined || isStopping.current) return;
      if (dryRun && sum.matched >= LOOK_MAX) return setCut(true);
    }
  };

  useEffect(() => {
    dialog.current?.showModal();
    const signal = ending.current;
    run(true, 'A look at what would be done.', setPlanned).then(() => setStep('ready'), fail);
    return () => signal.abort();
  }, []);

  const fail = (refusal: unknown): void => {
    if (!ending.current.signal.aborted) setFault(refusal);
  };
  const start = (event: Event): void => {
    event.preventDefault();
    setStep('running');
    run(false, reason.trim(), setTally).then(() => setStep('done'), fail);
  };
  const share = planned.done === 0 ? 1 : Math.min(1, tally.done / planned.done);
  return (
    <dialog ref={dialog} aria-labelledby="bulk-title" onClose={onClose}>
      <form onSubmit={start}>
        <h2 id="bulk-title">{verb} everything that matches</h2>
        <p class="filter-text">
          <code>{visible(filterText(filter))}</code>
        </p>
        <p>{says}</p>
        {action === 'requeue' && filter.state === undefined && (
          <p>
            <b>Completed tasks that match run again, too.</b> Add <code>state:failed</code> or{' '}
            <code>state:dead</code> to the search to leave them out.
          </p>
        )}
        {step === 'looking' && <p role="status">Looking: {countText(planned.matched)} match so far…</p>}
        {step === 'ready' && (
          <>
            <p role="status">
              <b>
                {isCut ? 'More than ' : ''}
                {countText(planned.done)} {planned.done === 1 ? 'task' : 'tasks'}
              </b>{' '}
              would be {done}, of {countText(planned.matched)} that match. Nothing has been changed yet.
            </p>
            <Refusals refused={planned.refused} says="would be refused" />
            <label class="stacked">
              Why? Recorded with each task.
              <input
                value={reason}
                maxLength={1_000}
                autocomplete="off"
                onInput={(event) => setReason(event.currentTarget.value)}
              />
            </label>
          </>
        )}
        {(step === 'running' || step === 'done') && (
          <>
            <progress value={step === 'done' ? 1 : share} max={1} aria-label="Progress" />
            <p role="status">
              {countText(tally.done)} {tally.done === 1 ? 'task was' : 'tasks were'} {done}
              {step === 'running' ? '…' : '.'}
            </p>
            <Refusals refused={tally.refused} says="refused" />
          </>
        )}
        <Fault fault={fault} />
        <div class="buttons">
          {step === 'running' && fault === null && (
            <button
              type="button"
              onClick={() => {
                // The call in flight is awaited, so that its result is shown.
                isStopping.current = true;
              }}
            >
              Stop here
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            {step === 'done' ? 'Close' : step === 'running' ? 'Close' : 'Keep as it is'}
          </button>
          {(step === 'looking' || step === 'ready') && (
            <button
              type="submit"
              class={action === 'requeue' ? 'primary' : 'danger'}
              disabled={step !== 'ready' || planned.done === 0 || reason.trim() === ''}
            >
              {verb} {isCut ? 'more than ' : ''}
              {countText(planned.done)}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

const SHOWN_MAX = 200;

function Refusals({ refused, says }: { refused: Tally['refused']; says: string }) {
  if (refused.length === 0) return null;
  return (
    <details class="refusals" open={refused.length <= 5}>
      <summary>
        {countText(refused.length)} {says}
      </summary>
      <ul>
        {refused.slice(0, SHOWN_MAX).map(({ task_id: taskId, code }) => (
          <li key={taskId}>
            <NameLink view="tasks" text={taskId} /> <code>{code}</code>
          </li>
        ))}
      </ul>
      {refused.length > SHOWN_MAX && <p class="soft">The first {SHOWN_MAX} are listed.</p>}
    </details>
  );
}

function filterText(filter: TaskQueryFilter): string {
  return Object.entries(filter)
    .map(([field, value]) => `${field} = ${value}`)
    .join(', ');
}
