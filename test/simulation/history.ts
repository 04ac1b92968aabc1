/**
 * What a simulated run leaves behind: a flat list of events in the order in which they happened, plain data that can be
 * hashed, printed and compared. `simMs` is the one true time of the world, which no node can see; what a node saw by
 * its own clocks is named so. A checker needs nothing else to judge a history.
 *
 *   wire calls   one event pair for every attempt that left a client, batches taken apart into their operations. What
 *                reached the server and changed something is always one of them: retries, what the client gives back by
 *                itself and what the network delivered twice (`isEcho`) are calls of their own
 *                (the one exception: a grant whose connection was found closed, the authority releases by itself). An
 *                answer of 500 and above that is not 507 says nothing about what happened, like no answer
 *   user calls   what a program asked its client for and was told, retries hidden; `Transport` level
 *   entries      as the authority showed them on its feed (`feed`), and as they were read back from the disk (`log`). The entry that
 *                starts an epoch is never on a feed: `boot` names its seq
 */

import type { Operation } from '../../src/operations/table.ts';
import type { Loss } from '../../src/protocol/leasehold-error.ts';
import type { Json, PlannedFault } from './plan.ts';

/** Which way a call was seen; see above. */
export type Layer = 'wire' | 'user';

export interface CallEvent {
  readonly kind: 'call';
  /** Counts from 1 over both layers. */
  readonly id: number;
  readonly layer: Layer;
  readonly client: string;
  readonly op: Operation;
  /** As the wire has it, path fields included. At the user layer tokens the client makes up later are missing. */
  readonly request: Record<string, Json>;
  /** Operations of one request share it; 0 at the user layer. */
  readonly batch: number;
  /** The network delivered this request twice. The answer to this copy never arrives. */
  readonly isEcho?: true;
  /** Sent over a live connection. */
  readonly isLive?: true;
  readonly simMs: number;
}

/** A wire call reached a live authority and was handed to it: the order of these is the order of the lines. */
export interface ArriveEvent {
  readonly kind: 'arrive';
  readonly id: number;
  readonly simMs: number;
}

/** An answer leaves a server that leads in this epoch; only in worlds of several servers. */
export interface ServedEvent {
  readonly kind: 'served';
  readonly id: number;
  readonly epoch: number;
  readonly simMs: number;
}

/** A yes or a no of the authority: the status and the body as the wire has them; `body.code` is there for a no. */
export interface AnswerEvent {
  readonly kind: 'answer';
  readonly id: number;
  readonly status: number;
  readonly body: Record<string, Json>;
  readonly simMs: number;
}

/** No answer came, or none that says what happened. `effect` is what the client claims: 'none' or 'unknown'. */
export interface UnansweredEvent {
  readonly kind: 'unanswered';
  readonly id: number;
  readonly effect: 'none' | 'unknown';
  readonly why: string;
  readonly simMs: number;
}

/** By which the client knows how long it may rely on a lease. */
export interface ClientInstant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** A lease handle was given out to a program. */
export interface HeldEvent {
  readonly kind: 'held';
  readonly client: string;
  /** Counts the handles of a run; `lost`, `used` and `released` name it. */
  readonly handle: number;
  readonly names: readonly string[];
  /** Set for the lease of a task instead of names. */
  readonly task?: string;
  readonly holder: string;
  readonly leaseSeq: number;
  /** A guard: its first failed renewal is its end. */
  readonly isGuard: boolean;
  readonly now: ClientInstant;
  /** What the handle says is left. */
  readonly remainingMs: number;
  readonly simMs: number;
}

/** The handle's signal aborted. */
export interface LostEvent {
  readonly kind: 'lost';
  readonly client: string;
  readonly handle: number;
  readonly cause: Loss | 'other';
  readonly now: ClientInstant;
  readonly simMs: number;
}

/** The handle passed `assertHeld()` at this very moment: work that only its holder may do was done here. */
export interface UsedEvent {
  readonly kind: 'used';
  readonly client: string;
  readonly handle: number;
  readonly now: ClientInstant;
  readonly remainingMs: number;
  /** What the authority's own clock says at this moment; null while none runs. */
  readonly authority: { readonly atMs: number; readonly epoch: number } | null;
  readonly simMs: number;
}

/** The program kept its own loop busy, for so long that nothing else of it could run; see `block` in `client-program.ts`. */
export interface BlockedEvent {
  readonly kind: 'blocked';
  readonly client: string;
  readonly forMs: number;
  readonly simMs: number;
}

/** The program gave the handle back (asked to; the answer is among the calls). */
export interface ReleasedEvent {
  readonly kind: 'released';
  readonly client: string;
  readonly handle: number;
  readonly simMs: number;
}

/** What a checker must allow after a fault; without it, nothing out of the ordinary is allowed. */
export type Allowance =
  /** The next start may be refused because the log is damaged. */
  | { readonly may: 'refuse' }
  /** Durable entries from this seq on may be gone, because the disk lied; nothing before it may. */
  | { readonly may: 'lose'; readonly fromSeq: number }
  /** One opaque value (payload, result, value) may be unreadable; its task may be DEAD with PAYLOAD_DAMAGED. */
  | { readonly may: 'unreadable' }
  /**
   * A backup that was made at `madeAtMs` (of the world's time) and ends at `lastSeq` was restored: the log is what it was
   * then, every lease is ended, and it goes on at `seq`, 2^40 higher or more and above all that was ever granted.
   */
  | {
      readonly may: 'restore';
      readonly madeAtMs: number;
      readonly lastSeq: number;
      readonly seq: number;
    };

export interface FaultEvent {
  readonly kind: 'fault';
  readonly fault: PlannedFault['fault'] | 'repair';
  readonly target: string;
  readonly detail: Record<string, Json>;
  readonly allows: readonly Allowance[];
  readonly simMs: number;
}

/**
 * A process started. Authorities are `authority.1`, `authority.2`, …, one name for each start; a second opener of the same
 * log is `rival`. For them: it serves from here on, after replaying up to `lastSeq`. Clients keep their name.
 */
export interface BootEvent {
  readonly kind: 'boot';
  readonly node: string;
  /** Of the log, for an authority that has opened one; else 0. `lastSeq` includes its own EpochStarted. */
  readonly epoch: number;
  readonly lastSeq: number;
  readonly lastAtMs: number;
  /** How long it keeps ended tasks, and how many of each kind; where a run is about that. */
  readonly keeps?: { readonly completedMs: number; readonly failedMs: number; readonly max: number };
  /** Of one of several servers: it has led before, or has seen another renew its guard, and so knows the time. */
  readonly isWarm?: boolean;
  readonly simMs: number;
}

/** An authority could not start: `error` is the class (LogDamagedError, LogHeldError, …). */
export interface RefusedBootEvent {
  readonly kind: 'refused-boot';
  readonly node: string;
  readonly error: string;
  readonly message: string;
  readonly simMs: number;
}

/** A process ended: killed, powered off, closed in order, or dead by its own doing (a failed append). */
export interface DeathEvent {
  readonly kind: 'death';
  readonly node: string;
  readonly cause: 'kill' | 'power' | 'close' | 'fault' | 'bug';
  readonly why: string;
  /** The newest durable seq, as far as the node had said so. */
  readonly lastSeq: number;
  readonly simMs: number;
}

export interface EntryEvent {
  readonly kind: 'entry';
  /**
   * On the feed of a live authority; replayed by one that started, and never on any feed before, because its writer died
   * first; or read back from the log on the disk when the run was over.
   */
  readonly source: 'feed' | 'replay' | 'log';
  readonly node: string;
  readonly seq: number;
  readonly atMs: number;
  /** As people read it; see `src/core/entry-json.ts`. Opaque bytes are shown by length and checksum. */
  readonly entry: Record<string, Json> & { readonly type: string };
  readonly simMs: number;
}

/** A client that follows the log over the wire received an entry. `stream` changes each time it starts over. */
export interface FollowedEvent {
  readonly kind: 'followed';
  readonly client: string;
  readonly stream: number;
  readonly seq: number;
  readonly type: string;
  readonly simMs: number;
}

/** A client that follows one session received an entry, or is done. `stream` changes each time it starts over. */
export interface HeardEvent {
  readonly kind: 'heard';
  readonly client: string;
  readonly stream: number;
  readonly session: string;
  /** The position to start after; 0 for all. */
  readonly from: number;
  /**
   * `ended`: the stream ended with the session; `terminal`: the server said that nothing more will come; `gone`: it
   * had received nothing, asked without a position and was answered that the session has ended; `not-found`: there is
   * no such session, or no longer; `left`: the client disconnected; `failed`: the server was away.
   */
  readonly is: 'entry' | 'ended' | 'terminal' | 'gone' | 'not-found' | 'left' | 'failed';
  readonly seq: number;
  readonly type: string;
  readonly state: string;
  readonly simMs: number;
}

/** A pipeline began or ended, in the one true time of the world: a program that an orchestrator runs for a session. */
export interface PipelineEvent {
  readonly kind: 'pipeline';
  readonly is: 'begun' | 'ended';
  /** The client that is the orchestrator, and the machine that it shares with others. */
  readonly node: string;
  readonly machine: string;
  readonly pid: number;
  readonly session: string;
  readonly slot: string;
  /** Of the service and slot, and of the guard on whose behalf it was started. */
  readonly leaseSeq: number;
  readonly guardSeq: number;
  readonly simMs: number;
}

/** The keeper of a pipeline was killed, by a fault or by its orchestrator; it did not end what it kept. */
export interface KeeperDeathEvent {
  readonly kind: 'keeper-death';
  /** The client that is the orchestrator. */
  readonly node: string;
  /** Of the pipeline; 0 when it had not begun one. */
  readonly pid: number;
  readonly simMs: number;
}

/** The keeper of a pipeline stands still for a while. */
export interface KeeperPauseEvent {
  readonly kind: 'keeper-pause';
  readonly node: string;
  readonly pid: number;
  readonly forMs: number;
  readonly simMs: number;
}

/** An orchestrator has the guard, or knows that it has it no longer. */
export interface GuardEvent {
  readonly kind: 'guard';
  readonly is: 'held' | 'lost';
  readonly client: string;
  readonly holder: string;
  readonly leaseSeq: number;
  readonly simMs: number;
}

/** An authority's live state beside a replay of what is on its disk, both up to `lastSeq`. */
export interface StateEvent {
  readonly kind: 'state';
  readonly node: string;
  readonly lastSeq: number;
  readonly hash: string;
  readonly replayHash: string;
  readonly replaySeq: number;
  readonly simMs: number;
}

/** No fault from here on; everything that waits must be served in time. */
export interface QuietEvent {
  readonly kind: 'quiet';
  readonly simMs: number;
}

/** A program was still waiting when the run was ended. There must be none. */
export interface StuckEvent {
  readonly kind: 'stuck';
  readonly client: string;
  readonly what: string;
  readonly sinceMs: number;
  readonly simMs: number;
}

/** A promise of a workload itself did not hold (it says which), or product code threw what it must not. */
export interface BrokenEvent {
  readonly kind: 'broken';
  readonly who: string;
  readonly says: string;
  readonly simMs: number;
}

export type HistoryEvent =
  | CallEvent
  | ArriveEvent
  | ServedEvent
  | AnswerEvent
  | UnansweredEvent
  | HeldEvent
  | LostEvent
  | UsedEvent
  | ReleasedEvent
  | BlockedEvent
  | FaultEvent
  | BootEvent
  | RefusedBootEvent
  | DeathEvent
  | EntryEvent
  | FollowedEvent
  | HeardEvent
  | PipelineEvent
  | KeeperDeathEvent
  | KeeperPauseEvent
  | GuardEvent
  | StateEvent
  | QuietEvent
  | StuckEvent
  | BrokenEvent;

export interface History {
  readonly events: readonly HistoryEvent[];
  /** SHA-256 over the events; two runs of one plan have the same. */
  readonly hash: string;
  /** How much there was: for the report. */
  readonly counts: {
    readonly steps: number;
    readonly calls: number;
    readonly faults: number;
    readonly simMs: number;
  };
}
