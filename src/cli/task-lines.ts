/** One task as `task show` prints it, with its progress and the tasks it was requeued from and as. */
import type { TaskRecord } from '../operations/records.ts';
import { ago, fieldLines, type Paint, visible } from './format.ts';
import type { Reads } from './reads.ts';

/** How many tasks are looked up in each direction. */
const CHAIN_MAX = 10;

export function stateText(state: TaskRecord['state'], paint: Paint): string {
  if (state === 'COMPLETED') return paint.green(state);
  if (state === 'LEASED') return paint.cyan(state);
  return state === 'WAITING' ? state : paint.red(state);
}

/** A task that was requeued, or is the successor of one; null: it has been forgotten. */
interface Link {
  readonly id: string;
  readonly task: TaskRecord | null;
}

/** The tasks that this one was requeued from and as, unless forgotten, from the oldest to the newest. */
export async function chainOf(ask: Reads['ask'], task: TaskRecord): Promise<readonly Link[]> {
  const own = { id: task.task_id, task };
  const before = await walk(ask, task.requeued_from, (each) => each.requeued_from);
  const after = await walk(ask, task.requeued_as, (each) => each.requeued_as);
  return [...before.reverse(), own, ...after];
}

async function walk(
  ask: Reads['ask'],
  first: string | undefined,
  next: (task: TaskRecord) => string | undefined,
): Promise<Link[]> {
  const links: Link[] = [];
  for (let id = first; id !== undefined && links.length < CHAIN_MAX; ) {
    const reply = await ask('task.get', { task_id: id });
    const task = reply.ok ? reply : null;
    links.push({ id, task });
    id = task === null ? undefined : next(task);
  }
  return links;
}

export function taskLines(
  task: TaskRecord,
  chain: readonly Link[],
  nowMs: number,
  paint: Paint,
): readonly string[] {
  const when = (instant: string): string => `${instant} (${ago(instant, nowMs)})`;
  const fields: [string, string][] = [
    ['task', paint.bold(visible(task.task_id))],
    ['state', stateText(task.state, paint)],
    ['queue', `${visible(task.queue)}, priority ${task.priority}`],
    [
      'attempts',
      `${task.attempt} (${task.max_attempts} allowed besides those handed back), ${task.failures} of ${task.retry.max_failures} failures`,
    ],
    ['created', when(task.created_at)],
  ];
  if (task.state === 'WAITING') fields.push(['due', when(task.due_at)]);
  if (task.worker_id !== undefined) fields.push(['worker', visible(task.worker_id)]);
  if (task.expiry_timestamp !== undefined) fields.push(['leased until', when(task.expiry_timestamp)]);
  if (task.cancel_requested && task.state === 'LEASED')
    fields.push(['cancelled', 'requested; the task ends with its lease unless it completes']);
  if (task.ended_at !== undefined) fields.push(['ended', when(task.ended_at)]);
  if (task.key !== undefined) fields.push(['key', visible(task.key)]);
  if (task.dedup_key !== undefined) fields.push(['dedup key', visible(task.dedup_key)]);
  if (task.reason !== undefined) fields.push([hasFailed(task) ? 'reason' : 'last failure', reasonText(task)]);
  if (chain.length > 1)
    fields.push(['requeued', chain.map((link) => linkText(link, task, paint)).join(' → ')]);
  if (task.checkpoint !== undefined) fields.push(checkpointField(task.checkpoint, paint));
  fields.push(['payload', task.payload === null ? paint.red('damaged') : visible(task.payload.text())]);
  if (task.result !== undefined) {
    fields.push(['result', task.result === null ? paint.red('damaged') : visible(task.result.text())]);
  }
  for (const lease of task.leases) {
    fields.push(['lease', `${lease.lease_seq} by ${visible(lease.worker_id)}: ${lease.end}`]);
  }
  return fieldLines(fields, paint);
}

/** A retried task keeps the reason of its last failure, even after it completed. */
function hasFailed({ state }: TaskRecord): boolean {
  return state === 'FAILED' || state === 'DEAD';
}

function reasonText({ reason = '', reason_detail: detail }: TaskRecord): string {
  return visible(detail === undefined ? reason : `${reason}: ${detail}`);
}

function linkText({ id, task }: Link, shown: TaskRecord, paint: Paint): string {
  if (id === shown.task_id) return 'this one';
  return `${visible(id)} (${task === null ? 'forgotten' : stateText(task.state, paint)})`;
}

/** A checkpoint with `done` and `total` is shown as progress, any other value as JSON. */
function checkpointField(checkpoint: TaskRecord['checkpoint'], paint: Paint): [string, string] {
  if (!checkpoint) return ['checkpoint', paint.red('damaged')];
  const { done, total } = Object(checkpoint.parse()) as { readonly done?: unknown; readonly total?: unknown };
  if (typeof done !== 'number' || typeof total !== 'number' || !(total > 0))
    return ['checkpoint', visible(checkpoint.text())];
  return ['progress', `${done} of ${total} (${Math.floor((100 * done) / total)} %)`];
}
