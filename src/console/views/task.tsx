/** One task: its state, each attempt in a lane, its payload and result, and why it is not running. */
import type { Body } from '../../browser.ts';
import { authorityNow, countText, durationText, seenNow } from '../data/clock.ts';
import { ask, may } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { HISTORY_ENTRIES, historyOfTask } from '../data/history.ts';
import { hrefOf, moment } from '../data/route.ts';
import { type Attempt, attemptsOf, type LogEntry } from '../data/task-history.ts';
import { quotedWord } from '../data/task-query.ts';
import { visible } from '../data/visible.ts';
import { watch } from '../data/watch.ts';
import { CopyCurl } from '../parts/copy.tsx';
import { confirm } from '../parts/dialog.tsx';
import { DrainBar } from '../parts/figures.tsx';
import { Lanes } from '../parts/lanes.tsx';
import { Empty, Shown } from '../parts/notices.tsx';
import { Opaque } from '../parts/opaque.tsx';
import { RawEntries } from '../parts/raw-entries.tsx';
import { Ago, Field, Instant, Name, NameLink, State } from '../parts/text.tsx';
import { StateDiagram } from './state-diagram.tsx';

type Task = Body<'task.get'>;
type Why = Body<'task.why'>;

const CHAIN_MAX = 6;

export function TaskPage({ id }: { id: string }) {
  const feed = useFeed(`task ${id}`, async (signal) => {
    const task = await ask('task.get', { task_id: id }, signal);
    const why = isEnded(task) ? null : await ask('task.why', { task_id: id }, signal);
    return { task, why, seenMs: seenNow() };
  });
  return (
    <>
      <p class="crumb">
        <a href={hrefOf('tasks')}>Tasks</a>
      </p>
      <h1>
        <Name text={id} />
      </h1>
      <Shown feed={feed}>
        {({ task, why, seenMs }) => (
          <>
            <Lead task={task} why={why} />
            <StateDiagram state={task.state} attempt={task.attempt} failures={task.failures} />
            <Card task={task} seenMs={seenMs} />
            <Actions task={task} again={feed.again} />
            <Attempts task={task} />
            <Contents task={task} />
            <Chain task={task} />
          </>
        )}
      </Shown>
    </>
  );
}

function isEnded({ state }: Pick<Task, 'state'>): boolean {
  return state === 'COMPLETED' || state === 'FAILED' || state === 'DEAD';
}

function Lead({ task, why }: { task: Task; why: Why | null }) {
  if (task.state === 'LEASED' && task.worker_id !== undefined && task.expires_at !== undefined) {
    return (
      <p class="lead">
        <NameLink view="workers" text={task.worker_id} /> is working on it, attempt {task.attempt}. Its lease
        ends at <Instant at={task.expires_at} /> unless it is extended.
        {task.cancel_requested &&
          ' The worker is told to stop; the task ends with this lease unless it completes in time.'}
      </p>
    );
  }
  if (why !== null) {
    return (
      <p class="lead">
        <span class="soft">Why is it not running?</span> {visible(why.says)}
      </p>
    );
  }
  return (
    <p class="lead">
      {task.state === 'COMPLETED' ? 'Completed' : task.state === 'FAILED' ? 'Failed' : 'Dead'}{' '}
      {task.ended_at !== undefined && (
        <>
          at <Instant at={task.ended_at} />
        </>
      )}
      {task.reason !== undefined && task.state !== 'COMPLETED' && (
        <>
          : <Name text={task.reason} />
        </>
      )}
      {task.reason_detail !== undefined && <>, “{visible(task.reason_detail)}”</>}.
      {task.requeued_as === undefined &&
        task.state !== 'COMPLETED' &&
        ' It does not run again unless it is requeued.'}
      {task.requeued_as !== undefined && (
        <>
          {' '}
          It runs again as <NameLink view="tasks" text={task.requeued_as} />.
        </>
      )}
    </p>
  );
}

function Card({ task, seenMs }: { task: Task; seenMs: number }) {
  const current = task.leases[0];
  return (
    <dl class="card">
      <Field label="State">
        <State of={task.state} />
      </Field>
      <Field label="Queue">
        <NameLink view="queues" text={task.queue} />
      </Field>
      {task.worker_id !== undefined && (
        <Field label="Worker">
          <NameLink view="workers" text={task.worker_id} />
        </Field>
      )}
      {task.remaining_ms !== undefined && (
        <Field label="Lease">
          <DrainBar
            remainingMs={task.remaining_ms}
            seenMs={seenMs}
            ttlMs={Math.max(30_000, task.remaining_ms)}
          />
          <span class="soft figure">{current?.lease_seq}</span>
        </Field>
      )}
      <Field label="Attempts">
        <span class="figure">
          {task.attempt} of {task.max_attempts}
        </span>
      </Field>
      <Field label="Failures">
        <span class="figure">
          {task.failures} of {task.retry.max_failures}
        </span>
      </Field>
      <Field label="Priority">
        <span class="figure">{task.priority}</span>
      </Field>
      {task.key !== undefined && (
        <Field label="Key">
          <a class="namelink" href={hrefOf('tasks', null, { q: `key:${quotedWord(task.key)}` })}>
            <Name text={task.key} />
          </a>
        </Field>
      )}
      <Field label="Created">
        <Instant at={task.created_at} />
      </Field>
      {task.state === 'WAITING' && (
        <Field label="Due">
          <Instant at={task.due_at} />
        </Field>
      )}
      {task.dedup_key !== undefined && (
        <Field label="Deduplication key">
          <Name text={task.dedup_key} />
        </Field>
      )}
      {task.trace !== undefined && (
        <Field label="Trace">
          <Name text={task.trace.traceparent} />
        </Field>
      )}
    </dl>
  );
}

function Actions({ task, again }: { task: Task; again: () => void }) {
  const { task_id: id } = task;
  return (
    <div class="actions">
      {isEnded(task) && task.requeued_as === undefined && may('v1:write') && (
        <button type="button" onClick={() => requeue(task, again)}>
          Requeue…
        </button>
      )}
      {!isEnded(task) && !task.cancel_requested && may('v1:write') && (
        <button type="button" onClick={() => cancel(task, again)}>
          Cancel…
        </button>
      )}
      {!isEnded(task) && may('v1:admin') && (
        <button type="button" class="danger" onClick={() => kill(task, again)}>
          Kill…
        </button>
      )}
      <CopyCurl op="task.get" request={{ task_id: id }} />
    </div>
  );
}

function requeue({ task_id: id, queue }: Task, again: () => void): void {
  confirm({
    title: `Run ${visible(id)} again?`,
    says: (
      <ul>
        <li>
          A new task with a copy of its payload is created in <Name text={queue} />, with attempt 0.
        </li>
        <li>This task keeps its state, and shows the new one. Doing it again creates no second one.</li>
      </ul>
    ),
    action: 'Requeue',
    reason: 'Why? Recorded with the new task.',
    run: async (reason) => {
      await ask('task.requeue', { task_id: id, reason });
      again();
    },
  });
}

function cancel({ task_id: id, state, worker_id: worker }: Task, again: () => void): void {
  confirm({
    title: `Cancel ${visible(id)}?`,
    says:
      state === 'LEASED' ? (
        <ul>
          <li>
            <Name text={worker ?? ''} /> is told to stop with its next heartbeat. It is not stopped by force.
          </li>
          <li>If it completes in time, that counts. Otherwise the task ends as DEAD with this lease.</li>
          <li>It is never leased again.</li>
        </ul>
      ) : (
        <p>It ends as DEAD at once, and is never leased again.</p>
      ),
    action: 'Cancel the task',
    isDangerous: true,
    reason: 'Why? Recorded with the task.',
    run: async (reason) => {
      await ask('task.cancel', { task_id: id, reason });
      again();
    },
  });
}

function kill({ task_id: id, state, worker_id: worker }: Task, again: () => void): void {
  confirm({
    title: `Kill ${visible(id)}?`,
    says: (
      <ul>
        <li>It ends as DEAD at once, and is never leased again.</li>
        {state === 'LEASED' && (
          <li>
            <Name text={worker ?? ''} /> loses its lease. Its process is not stopped, but what it finishes is
            refused.
          </li>
        )}
      </ul>
    ),
    action: 'Kill the task',
    isDangerous: true,
    reason: 'Why? It becomes the reason of the task.',
    run: async (reason) => {
      await ask('task.kill', { task_id: id, reason });
      again();
    },
  });
}

const TONES: Readonly<Record<Attempt['end'], string>> = {
  live: 'held',
  completed: 'ok',
  failed: 'bad',
  released: 'wait',
  expired: 'bad',
  dead: 'bad',
  restored: 'warn',
};

function Attempts({ task }: { task: Task }) {
  const end = watch.value?.status.seq ?? null;
  const feed = useFeed(
    end === null ? null : `attempts ${task.task_id} ${task.seq} ${moment.value === null ? '' : end}`,
    async (signal) => {
      const { entries, isWhole } = await historyOfTask(task.task_id, signal);
      return { entries, isWhole: isWhole || entries[0]?.type === 'TaskCreated' };
    },
    600_000,
  );
  const { data } = feed;
  if (data === null) return null;
  const attempts = attemptsOf(data.entries);
  const nowMs = authorityNow();
  return (
    <section>
      <h2>
        Attempts{' '}
        {!data.isWhole && (
          <span class="count">in the last {countText(HISTORY_ENTRIES)} entries; the task is older</span>
        )}
      </h2>
      {attempts.length === 0 ? (
        <Empty>No worker has leased it{data.isWhole ? ' yet' : ' in that part of the log'}.</Empty>
      ) : (
        <>
          <Lanes
            label={`Attempts of ${visible(task.task_id)}`}
            untilMs={attempts.some(({ toMs }) => toMs === null) ? nowMs : 0}
            lanes={attempts.map((attempt) => ({
              label: `${attempt.number} · ${visible(attempt.workerId)}`,
              spans: [
                {
                  fromMs: attempt.fromMs,
                  toMs: attempt.toMs ?? nowMs,
                  tone: TONES[attempt.end],
                  says: `Attempt ${attempt.number} of ${visible(attempt.workerId)}: ${attemptText(attempt)}`,
                  ticks: attempt.extensions,
                  marks: attempt.checkpoints.map((atMs) => ({ atMs, says: 'Checkpoint' })),
                  isLost: attempt.end === 'expired',
                  ...(attempt.late === null
                    ? {}
                    : { flag: { atMs: attempt.late.atMs, says: lateText(attempt) } }),
                },
              ],
            }))}
          />
          <ol class="events" reversed>
            {[...attempts].reverse().map((attempt) => (
              <li
                key={attempt.leaseId}
                class={attempt.end === 'expired' || attempt.late !== null ? 'bad' : ''}
              >
                <Instant at={attempt.fromMs} /> attempt {attempt.number}, <Name text={attempt.workerId} />{' '}
                under <b class="figure">{attempt.leaseSeq}</b>: {attemptText(attempt)}
                {attempt.late !== null && <span class="bad"> {lateText(attempt)}</span>}
              </li>
            ))}
          </ol>
        </>
      )}
      <RawEntries entries={data.entries as readonly LogEntry[]} />
    </section>
  );
}

function attemptText({ end, fromMs, toMs, reason, extensions, checkpoints }: Attempt): string {
  const ran = toMs === null ? 'running' : `${end} after ${durationText(toMs - fromMs)}`;
  const because = reason === null ? '' : `, “${visible(reason)}”`;
  const kept = [
    extensions.length === 0 ? '' : `extended ${times(extensions.length)}`,
    checkpoints.length === 0
      ? ''
      : `${checkpoints.length} ${checkpoints.length === 1 ? 'checkpoint' : 'checkpoints'}`,
  ].filter(Boolean);
  return `${ran}${because}${kept.length === 0 ? '.' : `; ${kept.join(', ')}.`}`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

const VERDICTS: Readonly<Record<string, string>> = { complete: 'completion', fail: 'failure' };

function lateText({ late }: Attempt): string {
  return late === null
    ? ''
    : `Its ${VERDICTS[late.verb] ?? late.verb} arrived ${durationText(late.byMs)} late and was refused.`;
}

function Contents({ task }: { task: Task }) {
  const late = task.leases.filter(({ late_result: result }) => result !== undefined);
  return (
    <section>
      <h2>Contents</h2>
      <Opaque label="Payload" value={task.payload} />
      {task.checkpoint !== undefined && <Opaque label="Checkpoint" value={task.checkpoint} />}
      {task.result !== undefined && <Opaque label="Result" value={task.result} />}
      {late.map(({ lease_id: leaseId, worker_id: worker, late_result: result }) => (
        <Opaque key={leaseId} label={`Late result of ${visible(worker)}, refused`} value={result} />
      ))}
    </section>
  );
}

interface Link {
  readonly id: string;
  /** Null when it has been forgotten. */
  readonly state: Task['state'] | null;
}

function Chain({ task }: { task: Task }) {
  const isPart = task.requeued_from !== undefined || task.requeued_as !== undefined;
  const feed = useFeed(
    isPart ? `chain ${task.task_id} ${task.requeued_as ?? ''}` : null,
    async (signal) => {
      const links: Link[] = [{ id: task.task_id, state: task.state }];
      const follow = async (
        start: string | undefined,
        step: 'requeued_from' | 'requeued_as',
      ): Promise<void> => {
        let next = start;
        for (let count = 0; next !== undefined && count < CHAIN_MAX; count++) {
          const id: string = next;
          const found: Task | null = await ask('task.get', { task_id: id }, signal).catch(() => null);
          const link = { id, state: found?.state ?? null };
          if (step === 'requeued_as') links.push(link);
          else links.unshift(link);
          next = found?.[step];
        }
      };
      await follow(task.requeued_from, 'requeued_from');
      await follow(task.requeued_as, 'requeued_as');
      return links;
    },
    60_000,
  );
  if (!isPart || feed.data === null) return null;
  return (
    <section>
      <h2>Requeued</h2>
      <ol class="chain">
        {feed.data.map(({ id, state }) => (
          <li key={id} aria-current={id === task.task_id ? 'true' : undefined}>
            <NameLink view="tasks" text={id} />{' '}
            {state === null ? <span class="soft">forgotten</span> : <State of={state} />}
          </li>
        ))}
      </ol>
      <p class="soft">
        Created <Ago at={task.created_at} /> ago.
      </p>
    </section>
  );
}
