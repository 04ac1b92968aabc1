/** The life of a session as a table, state × event, driven through the machine: every cell says what becomes of it. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  acquireGuard,
  acquireNames,
  breakName,
  type CommandBuilder,
  changeSession,
  leaseStarts,
  startSession,
  stopSession,
} from '../../../test/support/commands.ts';
import { given, type Step } from '../../../test/support/scenario.ts';
import { isRefusal } from '../decision.ts';
import type { SessionReason, SessionState } from '../entries.ts';
import { mayBecome, type SessionHappening } from './session-rules.ts';

const NEW: readonly Step[] = [acquireGuard(), acceptIntent(), leaseStarts()];
const STARTING: readonly Step[] = [...NEW, startSession()];

/** How a session comes into each state. */
const WAYS: Record<SessionState, readonly Step[]> = {
  NEW,
  STARTING,
  READY: [...STARTING, changeSession({ event: 'ready' })],
  STOPPING: [...STARTING, changeSession({ event: 'idle' })],
  STOPPED: [...STARTING, changeSession({ event: 'idle' }), changeSession({ event: 'stopped' })],
  FAILED: [...STARTING, changeSession({ event: 'start_failed', detail: 'exit 1' })],
  CANCELLED: [...NEW, stopSession()],
};

/** How each thing happens; what must be so before is given first. */
const HAPPENINGS: Record<SessionHappening, readonly [before: readonly Step[], command: CommandBuilder]> = {
  granted: [[], startSession({ startToken: 'another' })],
  busy: [
    [acquireNames({ names: ['lease:service:service'], holder: 'other', token: 'other' })],
    startSession({ startToken: 'another' }),
  ],
  no_slot: [[], startSession({ slots: [], startToken: 'another' })],
  ready: [[], changeSession({ event: 'ready' })],
  start_failed: [[], changeSession({ event: 'start_failed', detail: 'no such program' })],
  process_ended: [[], changeSession({ event: 'process_ended', detail: 'SIGSEGV' })],
  client_stop: [[], stopSession()],
  shutdown: [[], changeSession({ event: 'shutdown' })],
  idle: [[], changeSession({ event: 'idle' })],
  stopped: [[], changeSession({ event: 'stopped' })],
  lease_lost: [[], breakName({ name: 'lease:service:service' })],
};

/** What is heard, or the state and the reason afterwards. */
type Cell = 'conflict' | 'unchanged' | 'over' | readonly [SessionState, SessionReason | null];

const OVER: Record<SessionHappening, Cell> = {
  granted: 'over',
  busy: 'over',
  no_slot: 'over',
  ready: 'over',
  start_failed: 'over',
  process_ended: 'over',
  client_stop: 'over',
  shutdown: 'over',
  idle: 'over',
  stopped: 'over',
  lease_lost: 'over',
};

/** A new state or event does not compile here until every cell says what happens. */
const TABLE: Record<SessionState, Record<SessionHappening, Cell>> = {
  NEW: {
    granted: ['STARTING', null],
    busy: ['FAILED', 'R_LEASE_BUSY'],
    no_slot: ['FAILED', 'R_NO_TUNER'],
    ready: 'conflict',
    start_failed: ['FAILED', 'R_PIPELINE_START_FAILED'],
    process_ended: 'conflict',
    client_stop: ['CANCELLED', 'R_CANCELLED'],
    shutdown: 'conflict',
    idle: 'conflict',
    stopped: 'conflict',
    lease_lost: 'unchanged',
  },
  STARTING: {
    granted: 'conflict',
    busy: 'conflict',
    no_slot: 'conflict',
    ready: ['READY', null],
    start_failed: ['FAILED', 'R_PIPELINE_START_FAILED'],
    process_ended: ['FAILED', 'R_PIPELINE_START_FAILED'],
    client_stop: ['STOPPING', 'R_CLIENT_STOP'],
    shutdown: ['STOPPING', 'R_SHUTDOWN'],
    idle: ['STOPPING', 'R_IDLE_TIMEOUT'],
    stopped: 'conflict',
    lease_lost: ['FAILED', 'R_LEASE_EXPIRED'],
  },
  READY: {
    granted: 'conflict',
    busy: 'conflict',
    no_slot: 'conflict',
    ready: 'unchanged',
    start_failed: 'conflict',
    process_ended: ['FAILED', 'R_PROCESS_ENDED'],
    client_stop: ['STOPPING', 'R_CLIENT_STOP'],
    shutdown: ['STOPPING', 'R_SHUTDOWN'],
    idle: ['STOPPING', 'R_IDLE_TIMEOUT'],
    stopped: 'conflict',
    lease_lost: ['FAILED', 'R_LEASE_EXPIRED'],
  },
  STOPPING: {
    granted: 'conflict',
    busy: 'conflict',
    no_slot: 'conflict',
    ready: 'unchanged',
    start_failed: ['STOPPED', 'R_IDLE_TIMEOUT'],
    process_ended: ['STOPPED', 'R_IDLE_TIMEOUT'],
    client_stop: 'unchanged',
    shutdown: 'unchanged',
    idle: 'unchanged',
    stopped: ['STOPPED', 'R_IDLE_TIMEOUT'],
    lease_lost: ['STOPPED', 'R_IDLE_TIMEOUT'],
  },
  STOPPED: OVER,
  FAILED: OVER,
  CANCELLED: OVER,
};

const REFUSED = { conflict: 'SESSION_STATE_CONFLICT', over: 'SESSION_TERMINAL' } as const;

describe('a session: state × event', () => {
  for (const state of Object.keys(TABLE) as SessionState[]) {
    for (const happening of Object.keys(HAPPENINGS) as SessionHappening[]) {
      const cell = TABLE[state][happening];
      it(`${state} and ${happening}: ${Array.isArray(cell) ? cell.join(', ') : cell}`, () => {
        const [before, command] = HAPPENINGS[happening];
        // A running session holds the service itself, so no other holder can be in its way.
        const isTakeable = state === 'NEW' || TABLE[state] === OVER;
        const story = given(...WAYS[state], ...(isTakeable ? before : []));
        const then = story.session();
        expect(then.state).toBe(state);
        story.when(command);
        if (typeof cell === 'object') {
          story.thenSession({ state: cell[0], reason: cell[1] });
          return;
        }
        story.thenSession({ state, reason: then.reason, reasonDetail: then.reasonDetail, seq: then.seq });
        // Breaking a lease is no command about a session: with none to break there is nothing to refuse it for.
        if (happening === 'lease_lost') return;
        if (cell === 'unchanged') story.thenAnswers({ seq: then.seq }).thenRecordsNothing();
        else story.thenRefuses(REFUSED[cell], { state });
      });
    }
  }

  it('keeps the first reason and what was said about it', () => {
    given(
      ...STARTING,
      stopSession(),
      changeSession({ event: 'process_ended', detail: 'SIGTERM' }),
    ).thenSession({
      state: 'STOPPED',
      reason: 'R_CLIENT_STOP',
      reasonDetail: null,
    });
  });

  it('knows which states follow which, for a log that is read back', () => {
    const states = Object.keys(TABLE) as SessionState[];
    const follows = states.flatMap((from) =>
      states.filter((to) => mayBecome(from, to)).map((to) => `${from} ${to}`),
    );
    const table = states.flatMap((from) =>
      Object.values(TABLE[from]).flatMap((cell) => (typeof cell === 'object' ? [`${from} ${cell[0]}`] : [])),
    );
    expect(new Set(follows)).toEqual(new Set(table));
  });

  it('answers a command that it refuses with nothing but a refusal', () => {
    const { answer } = given(...WAYS.FAILED).when(stopSession());
    expect(answer !== null && isRefusal(answer)).toBe(true);
  });
});
