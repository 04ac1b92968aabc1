/** What operations use besides request and answer: policies of the server for changes, and the state for reads. */
import type { Authority } from '../authority/authority.ts';
import type { EndWatch } from '../authority/end-watch.ts';
import type { ReadView } from '../authority/reads.ts';
import type { SessionBeats } from '../authority/sessions/session-beats.ts';
import type { Workers } from '../authority/workers.ts';
import type { Log } from '../engines/log.ts';
import type { Timers } from '../seams/clock.ts';
import type { IntentSecrets } from './intent-keys.ts';

/** How intents are accepted here. */
export interface IntentPolicy extends IntentSecrets {
  /** Whether an intent acquires the lease of its service at once, instead of leaving that to the orchestrator. */
  readonly takesLease: boolean;
}

/** The last heartbeats of sessions. */
export interface SessionWatch {
  /** Null where they are not known. */
  readonly beats: SessionBeats | null;
  readonly nowMs: number;
  /** When this server started; earlier heartbeats are unknown. */
  readonly startedAtMs: number;
}

export interface ChangeContext {
  readonly intents: IntentPolicy;
  readonly watch: () => SessionWatch;
}

/** The state to read from: that of the leader, or of a standby. */
export interface StateSource {
  read<T>(look: (view: ReadView) => T): Promise<T>;
  readonly log: Pick<Log, 'read'>;
  whenEnded(call: () => void): () => void;
}

/** The fields of `status.get` that differ between leader and standby. */
export interface RoleFigures {
  readonly role: 'leader' | 'standby';
  readonly first_seq: number;
  readonly first_at?: string;
  readonly epoch: number;
  readonly log_bytes: number;
  readonly disk_full: boolean;
  readonly clock_off_ms: number | null;
  readonly leader_url?: string | null;
  readonly log_trouble?: string | null;
}

export interface ReadContext {
  readonly source: StateSource;
  readonly ends: EndWatch;
  readonly timers: Timers;
  /** Soft state of the leader; empty on a standby, null for an earlier moment. */
  readonly beats: SessionBeats | null;
  readonly workers: Workers | null;
  readonly figures: (view: ReadView) => RoleFigures;
}

export interface LeaderContext extends ReadContext {
  readonly authority: Authority;
}
