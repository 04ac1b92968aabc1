/** What operations know besides request and answer: policies of the server for changes, and the state to look at for reads. */
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
  /** Whether an intent takes the lease of its service at once, instead of leaving that to the orchestrator. */
  readonly takesLease: boolean;
}

/** When the watchers of sessions were last heard. */
export interface SessionWatch {
  readonly beats: SessionBeats;
  readonly nowMs: number;
  /** When this server started; heartbeats before that are not known. */
  readonly startedAtMs: number;
}

export interface ChangeContext {
  readonly intents: IntentPolicy;
  readonly watch: () => SessionWatch;
}

/** Where the state can be seen: at the leader, or at a standby. */
export interface StateSource {
  read<T>(look: (view: ReadView) => T): Promise<T>;
  readonly log: Pick<Log, 'read'>;
  whenEnded(call: () => void): () => void;
}

/** What only a leader or only a standby says of itself. */
export interface RoleFigures {
  readonly role: 'leader' | 'standby';
  readonly first_seq: number;
  readonly epoch: number;
  readonly log_bytes: number;
  readonly disk_full: boolean;
  readonly leader_url?: string | null;
}

export interface ReadContext {
  readonly source: StateSource;
  readonly ends: EndWatch;
  readonly timers: Timers;
  /** What the leader has heard; empty on a standby. */
  readonly beats: SessionBeats;
  readonly workers: Workers;
  readonly figures: (view: ReadView) => RoleFigures;
}

export interface LeaderContext extends ReadContext {
  readonly authority: Authority;
}
