/** `leasehold status` and `leasehold workers`: the state of a server, and its workers. */
import type { Command } from 'commander';
import type { WorkerRecord } from '../operations/records.ts';
import type { Body } from '../operations/table.ts';
import { examples, patientProbe, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered } from './failure.ts';
import { ago, duration, fieldLines, type Paint, shortened, size, visible } from './format.ts';
import { type Columns, show, showList } from './output.ts';
import { type ReadOptions, readsPast, withReads } from './reads.ts';
import type { Shell } from './shell.ts';

export function statusCommand(shell: Shell): Command {
  return readsPast(shell, patientProbe('status'))
    .description('Show the role of a server, its position in the log and its counts.')
    .addHelpText('after', examples('leasehold status', 'leasehold status --json', 'leasehold status --at 2h'))
    .action((options: ReadOptions) =>
      withReads(shell, options, async ({ get, url, nowMs }) => {
        const status = await get('status.get', {});
        const isPast = options.at !== undefined || options.atSeq !== undefined;
        show(shell, options, status, (paint) =>
          isPast ? pastLines(status, url, paint) : statusLines(status, url, nowMs, paint),
        );
      }),
    );
}

type Status = Body<'status.get'>;
type Field = readonly [name: string, value: string];

/** What the log has of that moment. The rest of the reply is of now: role, size, disk, time and waiters. */
function pastLines(status: Status, url: string, paint: Paint): string[] {
  const { seq, epoch, last_commit: commit } = status;
  const log: Field[] =
    seq === 0
      ? [['log', 'not begun: it has no entry at that time']]
      : [
          ['log', `seq ${seq}, epoch ${epoch}`],
          ['last commit', commit],
        ];
  return fieldLines([['server', paint.bold(url)], ...log, ...countFields(status)], paint);
}

function statusLines(status: Status, url: string, nowMs: number, paint: Paint): string[] {
  const { role, seq, leader_url: leader, log_trouble: trouble } = status;
  const head: Field[] = [['server', `${paint.bold(url)}, ${role}`]];
  if (leader !== undefined) head.push(['leader', leader ?? 'unknown']);
  if (trouble) head.push(['trouble', paint.red(visible(trouble))]);
  // The zeros of a standby that has read nothing are not those of the log.
  if (role === 'standby' && seq === 0) {
    return fieldLines([...head, ['log', 'this standby has not read it yet']], paint);
  }
  const [guard, tasks, leases, sessions] = countFields(status);
  return fieldLines(
    [
      ...head,
      ...logFields(status, nowMs),
      ['disk', status.disk_full ? paint.red('full: nothing new is taken') : 'has room'],
      ...(status.clock_off_ms === null ? [] : [['time', timeText(status.clock_off_ms, paint)] as const]),
      guard,
      tasks,
      leases,
      ['in line', `${status.counts.waiters} waiting for a lease or a task`],
      sessions,
    ],
    paint,
  );
}

function countFields({ guard_holder: guard, counts }: Status): [Field, Field, Field, Field] {
  const { tasks, leases, names, sessions } = counts;
  return [
    ['guard', guard === null ? 'none' : visible(guard)],
    [
      'tasks',
      `${tasks.WAITING} waiting, ${tasks.LEASED} leased, ${tasks.COMPLETED} completed, ${tasks.FAILED} failed, ${tasks.DEAD} dead`,
    ],
    ['leases', `${leases} held, ${names} names remembered`],
    [
      'sessions',
      `${sessions.NEW} new, ${sessions.STARTING} starting, ${sessions.READY} ready, ${sessions.STOPPING} stopping, ${sessions.STOPPED} stopped, ${sessions.FAILED} failed, ${sessions.CANCELLED} cancelled`,
    ],
  ];
}

function logFields(
  { seq, first_seq: firstSeq, epoch, log_bytes: bytes, last_commit: commit }: Status,
  nowMs: number,
): Field[] {
  return [
    ['log', `seq ${firstSeq} to ${seq}, epoch ${epoch}, ${size(bytes)}`],
    ['last commit', `${commit} (${ago(commit, nowMs)})`],
  ];
}

/** Time that follows the wall clock is at most a few milliseconds off. */
function timeText(offMs: number, paint: Paint): string {
  if (Math.abs(offMs) < 1_000) return 'agrees with the wall clock';
  const says = `${duration(Math.abs(offMs))} ${offMs > 0 ? 'ahead of' : 'behind'} the wall clock`;
  return Math.abs(offMs) > 60_000 ? paint.red(says) : says;
}

export function workersCommand(shell: Shell): Command {
  return serverCommand('workers')
    .description('List the workers that called recently.')
    .addHelpText('after', examples('leasehold workers'))
    .action((options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const { workers } = answered(await lh.call('worker.list', {}));
        await showList(shell, options, [newestFirst(workers)], workerColumns(shell));
      }),
    );
}

/** Our workers call more often than this, whether they wait or hold tasks. */
const SILENT_MS = 60_000;
const QUEUES_WIDTH = 30;
const HOLDS_WIDTH = 40;

/** Workers that have been silent longest come last. ISO 8601 instants sort as text. */
export function newestFirst(workers: readonly WorkerRecord[]): WorkerRecord[] {
  return workers.toSorted((a, b) => b.last_heartbeat.localeCompare(a.last_heartbeat));
}

function holdsOf({ task_ids: ids = [], active_leases: leases }: WorkerRecord): string {
  if (leases === 0) return '-';
  return `${ids.join(', ')}${leases > ids.length ? ' …' : ''}`;
}

export function workerColumns({ clock }: Pick<Shell, 'clock'>): Columns<WorkerRecord> {
  return {
    head: ['WORKER', 'QUEUES', 'LEASES', 'HOLDS', 'LAST HEARD OF'],
    cells: (worker, paint) => {
      const silentMs = clock.wallMs() - Date.parse(worker.last_heartbeat);
      return [
        visible(worker.worker_id),
        shortened(visible(worker.queues.join(', ')) || '-', QUEUES_WIDTH),
        String(worker.active_leases),
        shortened(visible(holdsOf(worker)), HOLDS_WIDTH),
        silentMs < SILENT_MS
          ? ago(worker.last_heartbeat, clock.wallMs())
          : paint.yellow(`silent for ${duration(silentMs)}`),
      ];
    },
    none: 'No worker has called recently.',
  };
}
