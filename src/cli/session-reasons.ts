/** Why sessions end: what each reason means and what to do about it. `leasehold explain` shows these texts. */
import type { SessionReason, SessionState } from '../core/entries.ts';

interface ReasonText {
  /** The state that a session with this reason ends in. */
  readonly state: Extract<SessionState, 'STOPPED' | 'FAILED' | 'CANCELLED'>;
  readonly says: string;
  readonly when: string;
  readonly todo: string;
}

export const SESSION_REASONS = {
  R_LEASE_BUSY: {
    state: 'FAILED',
    says: 'Another session runs this service, or this second of the recording.',
    when: 'The start found the lease of the service or recording held: another session has it, with another profile. The detail is `REJECTED_BUSY`.',
    todo: 'Watch the session that runs, or stop it and ask again: `leasehold session ls` shows it. Nothing of this session was started.',
  },
  R_NO_TUNER: {
    state: 'FAILED',
    says: 'No slot was free.',
    when: 'The start found every slot of the orchestrator taken by another session. The detail is `REJECTED_NO_TUNER`.',
    todo: 'Stop a session, or ask again when one has ended. If it happens often, give the orchestrator more `slots` in its configuration.',
  },
  R_CLIENT_STOP: {
    state: 'STOPPED',
    says: 'A client stopped it.',
    when: 'The session was stopped, by `leasehold session stop` or DELETE, when its pipeline was starting or ran.',
    todo: 'Nothing: this was requested. The same intent starts a new session.',
  },
  R_CANCELLED: {
    state: 'CANCELLED',
    says: 'A client stopped it before it was started.',
    when: 'The session was stopped while it was NEW: no orchestrator had taken it up yet, and no pipeline ever ran.',
    todo: 'Nothing: this was requested. If sessions stay NEW for long, check that an orchestrator runs: `leasehold status` shows the holder of the guard.',
  },
  R_LEASE_EXPIRED: {
    state: 'FAILED',
    says: 'It lost its leases.',
    when: 'A lease of the session ended while it was starting, ran or was being stopped: it was not renewed because the orchestrator died or could not reach the server, or it was broken or wiped. The detail has the cause.',
    todo: 'Ask again: the same intent starts a new session. Then find out from the orchestrator’s output why it stopped renewing; leases that were broken or wiped are in `leasehold log tail`.',
  },
  R_PIPELINE_START_FAILED: {
    state: 'FAILED',
    says: 'The pipeline did not start.',
    when: 'The profile is unknown to the orchestrator, its program was not found or may not be run, or it ended before it was ready. The detail has the exit code, the signal or the fault.',
    todo: 'Look into the log file of the session, in the directory of `--log-dir`, and correct the profile in the configuration of the orchestrator.',
  },
  R_PROCESS_ENDED: {
    state: 'FAILED',
    says: 'The pipeline ended by itself.',
    when: 'The program of the profile had been ready, and ended although it was not asked to, with any exit code. The detail has the exit code or the signal.',
    todo: 'Look into the log file of the session, in the directory of `--log-dir`. The same intent starts a new session.',
  },
  R_SHUTDOWN: {
    state: 'STOPPED',
    says: 'The orchestrator was asked to end.',
    when: 'The orchestrator got SIGTERM or SIGINT, and stopped every session before it ended.',
    todo: 'Ask again once an orchestrator runs; the same intent starts a new session.',
  },
  R_IDLE_TIMEOUT: {
    state: 'STOPPED',
    says: 'Its client sent no heartbeat for too long.',
    when: 'No heartbeat came within `session_idle_ms` of the configuration of the orchestrator.',
    todo: 'Nothing, if the client is gone. A client that wants to keep its session must send heartbeats more often than that.',
  },
} as const satisfies Record<SessionReason, ReasonText>;
