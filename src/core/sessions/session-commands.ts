/**
 * Commands about sessions, for the machine: which expiries must be written before a rule runs, which caller may send the
 * command, and how the session is answered afterwards.
 */
import type { AcceptedIntent, ChangedSession, RenewedSessions, StartedSession } from '../answers.ts';
import type {
  AcceptIntent,
  ChangeSession,
  Guard,
  HeartbeatSession,
  LeaseTasks,
  RenewSessions,
  StartSession,
  StopSession,
} from '../commands.ts';
import { holdsGuard } from '../decide-names.ts';
import { isRefusal } from '../decision.ts';
import { sessionIdOfSeq } from '../ids.ts';
import type { Machine } from '../machine.ts';
import type { Refusal } from '../refusals.ts';
import { START_QUEUE } from '../reserved-names.ts';
import {
  acceptIntent,
  happens,
  renewSession,
  type SessionFacts,
  startSession,
  terminal,
} from './decide-sessions.ts';
import { namesOf, serviceNameOf, slotName } from './session-names.ts';
import type { SessionHappening } from './session-rules.ts';
import { hasEnded, isRunning, type Session, sessionView } from './session-table.ts';
import { type SlotClaims, slotClaims } from './slot-claims.ts';

export type SessionCommand =
  | AcceptIntent
  | StopSession
  | HeartbeatSession
  | StartSession
  | ChangeSession
  | RenewSessions;

type SessionAnswer = AcceptedIntent | ChangedSession | StartedSession | RenewedSessions;

const NOT_HELD: Refusal = { refused: 'GUARD_NOT_HELD' };
const NOT_FOUND: Refusal = { refused: 'SESSION_NOT_FOUND' };

export class SessionCommands {
  private readonly machine: Machine;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  run(command: SessionCommand): SessionAnswer | Refusal {
    switch (command.type) {
      case 'AcceptIntent':
        return this.accept(command);
      case 'StopSession':
        return this.happen(command.sessionId, 'client_stop', null);
      case 'HeartbeatSession':
        return this.heartbeat(command);
      case 'StartSession':
        return this.holds(command.guard) ? this.start(command) : NOT_HELD;
      case 'ChangeSession':
        return this.holds(command.guard)
          ? this.happen(command.sessionId, command.event, command.detail)
          : NOT_HELD;
      case 'RenewSessions':
        return this.holds(command.guard) ? this.renew(command) : NOT_HELD;
    }
  }

  /** Whether this guard is live now. */
  holds(guard: Guard): boolean {
    this.machine.endNameIfDue(guard.name);
    return holdsGuard(this.machine.state, guard);
  }

  /** Only the live guard may lease start tasks, and a caller that presents a guard must hold it. */
  mayLease({ guard, queues }: LeaseTasks): boolean {
    return guard === undefined ? !queues.includes(START_QUEUE) : this.holds(guard);
  }

  /** A wipe releases start tasks; those whose lease has expired are WAITING already. */
  expireStartTasks(): void {
    for (const { seq, state } of [...this.machine.state.sessions.open.values()]) {
      if (state === 'NEW') this.machine.expireTask(sessionIdOfSeq(seq));
    }
  }

  slotClaims(): SlotClaims {
    const { state, batchAtMs } = this.machine;
    for (const session of [...state.sessions.running()]) this.expire(session);
    return slotClaims(state, batchAtMs);
  }

  /** The session with this id, after its due expiries have been written. */
  find(sessionId: string): Session | undefined {
    const session = this.machine.state.sessions.find(sessionId);
    if (session === undefined) return undefined;
    if (session.state === 'NEW') this.machine.expireTask(sessionId);
    this.expire(session);
    return session;
  }

  private expire(session: Session): void {
    for (const name of namesOf(session)) this.machine.expireName(name);
  }

  private accept(command: AcceptIntent): AcceptedIntent | Refusal {
    const { machine } = this;
    if (command.serviceLease !== null) {
      const service = serviceNameOf(command.intent);
      machine.expireName(service);
      const ahead = machine.lines.names.first(service);
      if (ahead !== null) return { refused: 'LEASE_HELD', holder: ahead.command.holder, remainingMs: 0 };
    }
    return machine.enact(acceptIntent(machine.state, command, machine.batchAtMs));
  }

  private heartbeat({ sessionId }: HeartbeatSession): ChangedSession | Refusal {
    const session = this.find(sessionId);
    if (session === undefined) return NOT_FOUND;
    return hasEnded(session) ? terminal(session) : answerOf(session);
  }

  private happen(
    sessionId: string,
    happening: SessionHappening,
    detail: string | null,
  ): ChangedSession | Refusal {
    const session = this.find(sessionId);
    if (session === undefined) return NOT_FOUND;
    const facts = happens(this.machine.state, session, happening, detail);
    return this.enact(facts) ?? answerOf(session);
  }

  private start(command: StartSession): StartedSession | Refusal {
    const { machine } = this;
    const { state } = machine;
    const session = this.find(command.sessionId);
    if (session === undefined) return NOT_FOUND;
    for (const slot of command.slots) machine.expireName(slotName(slot));
    const isAwaited = (name: string): boolean => machine.lines.names.has(name);
    const facts = startSession(state, session, command, machine.batchAtMs, isAwaited);
    const refusal = this.enact(facts);
    if (refusal !== null) return refusal;
    const { names } = state;
    const expiresAtMs = names.expiresAtMs.get(names.find(session.serviceName));
    const lease = isRunning(session) ? { expiresAtMs, remainingMs: expiresAtMs - machine.batchAtMs } : null;
    const isDuplicate = !isRefusal(facts) && facts.length === 0;
    return { ...answerOf(session), lease, duplicate: isDuplicate };
  }

  private renew({ sessionIds, ttlMs }: RenewSessions): RenewedSessions {
    const { machine } = this;
    const renewed: RenewedSessions['renewed'][number][] = [];
    const lost: RenewedSessions['lost'][number][] = [];
    for (const sessionId of new Set(sessionIds)) {
      const session = this.find(sessionId);
      if (session === undefined || !isRunning(session)) {
        lost.push({ sessionId, state: session?.state ?? null, reason: session?.reason ?? null });
        continue;
      }
      for (const entry of renewSession(machine.state, session, machine.batchAtMs + ttlMs))
        machine.commit(entry);
      const { names } = machine.state;
      const ends = namesOf(session).map((name) => names.expiresAtMs.get(names.find(name)));
      const expiresAtMs = Math.min(...ends);
      const remainingMs = expiresAtMs - machine.batchAtMs;
      renewed.push({ sessionId, state: session.state, expiresAtMs, remainingMs });
    }
    return { renewed, lost, seq: machine.state.lastSeq };
  }

  /** Writes the entries, or returns the refusal. */
  private enact(facts: SessionFacts): Refusal | null {
    if (isRefusal(facts)) return facts;
    for (const entry of facts) this.machine.commit(entry);
    return null;
  }
}

function answerOf(session: Session): ChangedSession {
  return { session: sessionView(session), seq: session.lastSeq };
}
