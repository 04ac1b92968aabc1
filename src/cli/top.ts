/** `leasehold top`: queues, leases, sessions and workers on a screen that is redrawn every second. */
import type { Command } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import type { LeaseRecord, QueueRecord, SessionRecord, WorkerRecord } from '../operations/records.ts';
import type { Body } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { examples, probeCommand, type ServerOptions, withServer } from './connection.ts';
import { answered } from './failure.ts';
import { ago, type Paint, shortened, size, tableLines } from './format.ts';
import { LEASE_COLUMNS } from './lease.ts';
import { type Columns, paintOf, sayJson, sayLines } from './output.ts';
import { QUEUE_COLUMNS } from './queue.ts';
import { hasEnded, runningSessionColumns } from './session.ts';
import type { Shell } from './shell.ts';
import { newestFirst, workerColumns } from './status.ts';

const EVERY_MS = 1_000;
const LEASES_MAX = 200;
const SESSIONS_MAX = 200;
/** Lines of a section besides its rows: the blank line before it, its title, its head. */
const PART_ROWS = 3;
const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l';
const LEAVE_SCREEN = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** One sample of the server. */
interface Sample {
  readonly atMs: number;
  readonly status: Body<'status.get'>;
  readonly queues: readonly QueueRecord[];
  readonly leases: readonly LeaseRecord[];
  readonly workers: readonly WorkerRecord[];
  /** Sessions that have not ended; null without the right to read them. */
  readonly sessions: readonly SessionRecord[] | null;
}

interface TopOptions extends ServerOptions {
  readonly once?: boolean;
}

export function topCommand(shell: Shell): Command {
  return probeCommand('top')
    .description('Watch queues, leases, sessions and workers on a live screen.')
    .option('--once', 'print one screen and exit, as without a terminal')
    .addHelpText('after', `${examples('leasehold top', 'leasehold top --once')}\n\nq quits.`)
    .action((options: TopOptions) =>
      withServer(shell, options, async (lh, { url }) => {
        if (options.json) {
          const { status, queues, leases, workers, sessions } = await sampleOf(shell, lh);
          const { ok: _ok, ...body } = status;
          const shown = sessions === null ? {} : { sessions };
          sayJson(shell, { status: body, queues, leases, ...shown, workers });
        } else if (options.once || !shell.out.isTerminal) {
          const sample = await sampleOf(shell, lh);
          sayLines(shell, screenLines(shell, url, sample, null, Number.POSITIVE_INFINITY));
        } else await watch(shell, lh, url);
      }),
    );
}

async function sampleOf({ clock }: Shell, lh: Leasehold): Promise<Sample> {
  const [status, queued, listed, heard, sessions] = await Promise.all([
    lh.call('status.get', {}),
    lh.call('queue.list', {}),
    lh.call('lease.list', { limit: LEASES_MAX }),
    lh.call('worker.list', {}),
    sessionsOf(lh),
  ]);
  return {
    atMs: clock.monotonicMs(),
    status: answered(status),
    queues: answered(queued).queues,
    leases: answered(listed).leases,
    workers: answered(heard).workers,
    sessions,
  };
}

/** The list begins with the sessions that have not ended. A caller may lack the right to read sessions alone. */
async function sessionsOf(lh: Leasehold): Promise<readonly SessionRecord[] | null> {
  const listed = await lh.call('session.list', { limit: SESSIONS_MAX });
  if (!listed.ok && listed.code === 'FORBIDDEN') return null;
  return answered(listed).sessions.filter((session) => !hasEnded(session));
}

/** Draws until the user presses q or a signal arrives. */
async function watch(shell: Shell, lh: Leasehold, url: string): Promise<void> {
  const { out, timers, processes } = shell;
  let isOver = false;
  let wake = (): void => undefined;
  const leave = (): void => {
    isOver = true;
    wake();
  };
  const unhearKeys = shell.keys((key) => {
    // In raw mode Ctrl-C is a key like any other.
    if (key === 'q' || key === 'Q' || key === '\u0003' || key === '\u001b') leave();
  });
  const unhearSignals = processes.onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], leave);
  out.write(ENTER_SCREEN);
  const hold = timers.hold();
  try {
    let before: Sample | null = null;
    while (!isOver) {
      try {
        const sample = await sampleOf(shell, lh);
        draw(shell, screenLines(shell, url, sample, before, out.rows));
        before = sample;
      } catch (fault) {
        // A server that has answered before may come back; one that never has is reported as a failure.
        if (before === null || !(fault instanceof LeaseholdError && fault.retryable)) throw fault;
        draw(shell, [`${url} does not answer: ${fault.message}`]);
      }
      await new Promise<void>((resolve) => {
        const timer = timers.after(EVERY_MS, resolve);
        wake = () => {
          timer.cancel();
          resolve();
        };
        if (isOver) wake();
      });
    }
  } finally {
    hold.cancel();
    out.write(LEAVE_SCREEN);
    unhearKeys();
    unhearSignals();
  }
}

function draw({ out }: Shell, lines: readonly string[]): void {
  const drawn = lines.slice(0, out.rows - 1).map((line) => `${line}${CLEAR_LINE}\n`);
  out.write(`${HOME}${drawn.join('')}${CLEAR_BELOW}`);
}

/** The whole screen; with an earlier sample also the rates per second. */
export function screenLines(
  shell: Shell,
  url: string,
  sample: Sample,
  before: Sample | null,
  rows: number,
): string[] {
  const paint = paintOf(shell);
  const { status, queues, leases, workers } = sample;
  const sessions = sample.sessions ?? [];
  const { tasks, waiters } = status.counts;
  const head = [
    `${paint.bold('leasehold')} ${url}  ${status.role}, epoch ${status.epoch}, seq ${status.seq}${rate(status.seq, before?.status.seq, sample, before, ' entries/s')}`,
    `log ${size(status.log_bytes)}, last commit ${ago(status.last_commit, shell.clock.wallMs())}${status.disk_full ? paint.red(', disk full') : ''}`,
    `tasks ${tasks.WAITING} waiting, ${tasks.LEASED} leased, ${tasks.COMPLETED} completed${rate(tasks.COMPLETED, before?.status.counts.tasks.COMPLETED, sample, before, '/s')}, ${tasks.FAILED} failed, ${tasks.DEAD} dead`,
    `leases ${status.counts.leases} held; ${waiters} in line for a lease or a task`,
  ];
  // The lists share the rest of the screen equally.
  const parts = sessions.length === 0 ? 3 : 4;
  const part = Math.max(1, Math.floor((rows - head.length - PART_ROWS * parts) / parts));
  const soonest = leases.toSorted((a, b) => a.remaining_ms - b.remaining_ms);
  const busiest = queues.toSorted((a, b) => b.waiting + b.leased - a.waiting - a.leased);
  return [
    ...head,
    ...section(paint, 'Queues', busiest, QUEUE_COLUMNS, part),
    ...section(paint, 'Leases, the first to end on top', soonest, LEASE_COLUMNS, part),
    ...(sessions.length === 0
      ? []
      : section(paint, 'Sessions', sessions, runningSessionColumns(shell), part)),
    ...section(paint, 'Workers, the last heard of on top', newestFirst(workers), workerColumns(shell), part),
  ].map((line) => (Number.isFinite(rows) ? fitted(line, shell.out.columns) : line));
}

function section<T>(
  paint: Paint,
  title: string,
  items: readonly T[],
  columns: Columns<T>,
  rowsMax: number,
): string[] {
  if (items.length === 0) return ['', paint.bold(title), paint.dim(columns.none)];
  const shown = items.slice(0, rowsMax);
  const more = items.length > shown.length ? ` (${shown.length} of ${items.length})` : '';
  const rows = shown.map((item) => columns.cells(item, paint));
  return [
    '',
    more === '' ? paint.bold(title) : paint.bold(title) + paint.dim(more),
    ...tableLines([columns.head.map(paint.dim), ...rows]),
  ];
}

/** ` (+12.0/s)`, or nothing before there are two samples. */
function rate(
  now: number,
  then: number | undefined,
  sample: Sample,
  before: Sample | null,
  unit: string,
): string {
  if (then === undefined || before === null) return '';
  const seconds = (sample.atMs - before.atMs) / 1_000;
  return seconds <= 0 ? '' : ` (+${((now - then) / seconds).toFixed(1)}${unit})`;
}

/** A coloured line cannot be cut inside an escape sequence, so one that is too long loses its colours. */
function fitted(line: string, columns: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences we paint with ourselves.
  const plain = line.replace(/\u001b\[\d*m/g, '');
  const short = shortened(plain, columns);
  return short === plain ? line : short;
}
