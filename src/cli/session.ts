/**
 * `leasehold session`: request, show and stop sessions. The server only records the request; an orchestrator
 * (`leasehold up`, `leasehold orchestrate`) finds a slot and runs the pipeline. So `start` and `stop` exit as soon as
 * the request is durable, unless `--wait` is given.
 */
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import { sleep } from '../client/sleep.ts';
import type { SessionRecord } from '../operations/records.ts';
import type { Requests } from '../operations/table.ts';
import type { Reply } from '../protocol/problem.ts';
import { durationMs, limitOption, wholeNumber } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered, Failure, wrongUsage } from './failure.ts';
import { ago, duration, fieldLines, type Paint, shortened, visible } from './format.ts';
import { type Columns, pagesOf, paintOf, sayJson, sayLines, show, showList } from './output.ts';
import { type ReadOptions, readCommand, withReads } from './reads.ts';
import type { Shell } from './shell.ts';

const STATES = ['NEW', 'STARTING', 'READY', 'STOPPING', 'STOPPED', 'FAILED', 'CANCELLED'] as const;
type State = (typeof STATES)[number];

const TYPES = ['live', 'vod'] as const;

export function sessionCommand(shell: Shell): Command {
  return new Command('session')
    .description('Request, show and stop sessions.')
    .addCommand(listCommand(shell))
    .addCommand(showCommand(shell))
    .addCommand(startCommand(shell))
    .addCommand(stopCommand(shell));
}

/** A session; for an ended one only how it ended. */
type Seen = Pick<SessionRecord, 'session_id' | 'state' | 'reason' | 'reason_detail'> & Partial<SessionRecord>;

/** The server refuses an ended session with SESSION_TERMINAL and how it ended; for this command it was found. */
function seen(reply: Reply<SessionRecord & { readonly ok: true }>): Seen {
  if (reply.ok || reply.code !== 'SESSION_TERMINAL') return answered(reply);
  const { session_id, state, reason = null, reason_detail = null } = reply;
  return { session_id: session_id!, state: state!, reason, reason_detail };
}

export function hasEnded({ state }: Pick<Seen, 'state'>): boolean {
  return state === 'STOPPED' || state === 'FAILED' || state === 'CANCELLED';
}

interface ListOptions extends ReadOptions {
  readonly state?: State;
  readonly limit: number;
}

function listCommand(shell: Shell): Command {
  return readCommand(shell, 'ls')
    .description('List sessions: first those that have not ended, then those that have.')
    .addOption(new Option('--state <state>', 'only in this state').choices(STATES).argParser(stateOf))
    .addOption(limitOption())
    .addHelpText(
      'after',
      examples('leasehold session ls', 'leasehold session ls --state READY --json | jq -r .slot'),
    )
    .action((options: ListOptions) =>
      withReads(shell, options, async ({ get, nowMs }) => {
        const { state } = options;
        const filter = state === undefined ? {} : { state };
        const pages = pagesOf(options.limit, async (page) => {
          const { sessions, next_cursor } = await get('session.list', { ...filter, ...page });
          return { items: sessions, next: next_cursor };
        });
        await showList(shell, options, pages, sessionColumns(nowMs));
      }),
    );
}

/** Accepts lower case as well, which commander's own check would refuse. */
function stateOf(text: string): string {
  const state = text.toUpperCase();
  if ((STATES as readonly string[]).includes(state)) return state;
  throw new InvalidArgumentError(`It must be one of ${STATES.join(', ')}.`);
}

function sessionColumns(nowMs: number): Columns<SessionRecord> {
  return {
    head: ['SESSION', 'STATE', 'SLOT', 'TYPE', 'TARGET', 'PROFILE', 'CHANGED', 'REASON'],
    cells: (session, paint) => [
      session.session_id,
      stateText(session.state, paint),
      visible(session.slot ?? ''),
      session.type,
      shortened(visible(targetOf(session)), 40),
      shortened(visible(session.profileID), 20),
      ago(session.updated_at, nowMs),
      shortened(visible(reasonOf(session)), 60),
    ],
    none: 'There are no such sessions.',
  };
}

/** The columns of `top`, for sessions that have not ended. */
export function runningSessionColumns({ clock }: Shell): Columns<SessionRecord> {
  const since = (instant: string): string => duration(Math.max(0, clock.wallMs() - Date.parse(instant)));
  return {
    head: ['SESSION', 'STATE', 'TARGET', 'SLOT', 'AGE', 'READY FOR'],
    cells: (session, paint) => [
      session.session_id,
      stateText(session.state, paint),
      shortened(visible(targetOf(session)), 40),
      visible(session.slot ?? ''),
      since(session.created_at),
      // A READY session does not change until it ends.
      session.state === 'READY' ? since(session.updated_at) : '',
    ],
    none: 'There are no sessions.',
  };
}

function targetOf({ serviceRef, recordingID }: Partial<SessionRecord>): string {
  return serviceRef ?? recordingID ?? '';
}

/** `R_LEASE_BUSY (REJECTED_BUSY)`; empty for a session that has no reason to end. */
function reasonOf({ reason, reason_detail }: Seen): string {
  if (reason === null) return '';
  // The detail may be a sentence, and is embedded in another one here.
  return reason_detail === null ? reason : `${reason} (${reason_detail.replace(/\.$/, '')})`;
}

function stateText(state: State, paint: Paint): string {
  if (state === 'READY') return paint.green(state);
  if (state === 'STARTING' || state === 'STOPPING') return paint.cyan(state);
  return state === 'FAILED' ? paint.red(state) : state;
}

function showCommand(shell: Shell): Command {
  return readCommand(shell, 'show')
    .description('Show one session: its state, its slot, or how it ended.')
    .argument('<id>', 'the session')
    .addHelpText('after', examples('leasehold session show s00000000012'))
    .action((id: string, options: ReadOptions) =>
      withReads(shell, options, async ({ ask, nowMs }) => {
        const session = seen(await ask('session.get', { session_id: id }));
        show(shell, options, session, (paint) => sessionLines(session, nowMs, paint));
      }),
    );
}

function sessionLines(session: Seen, nowMs: number, paint: Paint): string[] {
  const when = (instant: string): string => `${instant} (${ago(instant, nowMs)})`;
  const fields: [string, string][] = [
    ['session', paint.bold(session.session_id)],
    ['state', stateText(session.state, paint)],
  ];
  if (session.reason !== null) fields.push(['reason', visible(reasonOf(session))]);
  if (session.type !== undefined) fields.push([session.type, visible(targetOf(session))]);
  if (session.start_ms !== undefined) fields.push(['from', duration(session.start_ms)]);
  if (session.profileID !== undefined) fields.push(['profile', visible(session.profileID)]);
  if (session.slot !== undefined) fields.push(['slot', visible(session.slot)]);
  if (session.lease_seq !== undefined) fields.push(['lease_seq', String(session.lease_seq)]);
  if (session.created_at !== undefined) fields.push(['requested', when(session.created_at)]);
  if (session.updated_at !== undefined) fields.push(['changed', when(session.updated_at)]);
  if (session.idle_ms !== undefined) fields.push(['unwatched for', duration(session.idle_ms)]);
  return fieldLines(fields, paint);
}

interface WaitOptions extends ServerOptions {
  readonly wait?: boolean;
  readonly timeout?: number;
}

/** A command that may wait for the effect of its request. */
function waitingCommand(name: string, until: string): Command {
  return serverCommand(name)
    .option('--wait', `wait until it ${until}`)
    .option('--timeout <duration>', 'how long to wait at most; the session continues', durationMs);
}

function checkWait({ wait = false, timeout }: WaitOptions): void {
  if (timeout !== undefined && !wait)
    throw wrongUsage('--timeout is the limit of --wait, which is not given.');
}

interface StartOptions extends WaitOptions {
  readonly profile: string;
  readonly startMs?: number;
}

function startCommand(shell: Shell): Command {
  return waitingCommand('start', 'is READY or has ended')
    .description('Request a session. Repeating the request returns the existing session.')
    .addArgument(new Argument('<type>', 'live for a service, vod for a recording').choices(TYPES))
    .argument('<target>', 'the service reference, or the id of the recording')
    .requiredOption('--profile <profile>', 'a profile of the orchestrator')
    .option('--start-ms <n>', 'where in the recording to begin, in milliseconds (vod)', wholeNumber)
    .addHelpText(
      'after',
      `${examples(
        'leasehold session start live 1:0:19:283D:3FB:1:C00000:0:0:0: --profile demo --wait',
        'leasehold session start vod film-7 --profile demo --start-ms 60000',
      )}\n\nWith --wait it exits with 1 and says why when the session ends instead of becoming READY.`,
    )
    .action((type: (typeof TYPES)[number], target: string, options: StartOptions) => {
      checkWait(options);
      const request = intentOf(type, target, options);
      return withServer(shell, options, (lh) => startSession(shell, lh, request, options));
    });
}

function intentOf(
  type: (typeof TYPES)[number],
  target: string,
  { profile: profileID, startMs }: StartOptions,
): Requests['intent.accept'] {
  if (type === 'live') {
    if (startMs !== undefined)
      throw wrongUsage('--start-ms belongs to vod: a live service has no beginning.');
    return { type, serviceRef: target, profileID };
  }
  return { type, recordingID: target, profileID, ...(startMs === undefined ? {} : { start_ms: startMs }) };
}

async function startSession(
  shell: Shell,
  lh: Leasehold,
  request: Requests['intent.accept'],
  options: StartOptions,
): Promise<void> {
  const accepted = answered(await lh.call('intent.accept', request));
  const { session_id, status } = accepted;
  const isThere = status === 'idempotent_replay';
  const says = `${session_id} ${isThere ? 'is there already' : 'is accepted'}, durable at seq ${accepted.seq}.`;
  if (!options.wait) {
    show(shell, options, accepted, () => [says]);
    return;
  }
  // Printed before the wait, so that the user knows the session id when interrupting it.
  if (!options.json) sayLines(shell, [says]);
  const session = await awaited(
    shell,
    lh,
    session_id,
    options,
    (now) => now.state === 'READY' || hasEnded(now),
  );
  if (options.json) sayJson(shell, session);
  if (session.state !== 'READY')
    throw new Failure(`${session_id} is ${session.state}: ${reasonOf(session)}.`);
  const paint = paintOf(shell);
  if (!options.json)
    sayLines(shell, [`${stateText('READY', paint)} on slot ${visible(session.slot ?? '')}.`]);
}

function stopCommand(shell: Shell): Command {
  return waitingCommand('stop', 'has ended, and its slot is free')
    .description('End a session. One that has not started is CANCELLED at once.')
    .argument('<id>', 'the session')
    .addHelpText('after', examples('leasehold session stop s00000000012 --wait'))
    .action((id: string, options: WaitOptions) => {
      checkWait(options);
      return withServer(shell, options, async (lh) => {
        const stopping = answered(await lh.call('session.stop', { session_id: id }));
        const session = options.wait ? await awaited(shell, lh, id, options, hasEnded) : stopping;
        show(shell, options, session, (paint) => [
          `${session.session_id} is ${stateText(session.state, paint)}: ${visible(reasonOf(session))}.`,
        ]);
      });
    });
}

const LOOK_FIRST_MS = 50;
const LOOK_MAX_MS = 1_000;

/** Polls with growing pauses until the condition holds. Polling needs only the right to read a session. */
async function awaited(
  shell: Shell,
  lh: Leasehold,
  sessionId: string,
  { timeout = Number.POSITIVE_INFINITY }: WaitOptions,
  isSo: (session: Seen) => boolean,
): Promise<Seen> {
  const untilMs = shell.clock.monotonicMs() + timeout;
  for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 1.5, LOOK_MAX_MS)) {
    const session = seen(await lh.call('session.get', { session_id: sessionId }));
    if (isSo(session)) return session;
    const leftMs = untilMs - shell.clock.monotonicMs();
    if (leftMs <= 0)
      throw new Failure(`${sessionId} is still ${session.state} after ${duration(timeout)}; it continues.`);
    await sleep(shell.timers, Math.min(pauseMs, leftMs));
  }
}
