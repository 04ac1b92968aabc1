/**
 * The state of a log that another process writes, kept warm by replaying new entries. It decides nothing and writes
 * nothing: a lease that is over shows as live until its expiry is written. Reads see the state as of `state.lastSeq`, which may
 * be stale.
 */
import type { Opaque } from '../core/opaque.ts';
import type { Refusal } from '../core/refusals.ts';
import { createState, type State } from '../core/state.ts';
import {
  type Engine,
  type FollowedLog,
  type Leader,
  type Log,
  LogClosedError,
  type LoggedEntry,
  type LogPosition,
  type LogSize,
  type Replay,
} from '../engines/log.ts';
import { Feed } from './feed.ts';
import { replayInto } from './open-authority.ts';
import type { ReadView } from './reads.ts';
import { stillView } from './still-view.ts';

const NOWHERE: LogPosition = { lastSeq: 0, firstSeq: 1, lastAtMs: 0 };
const EMPTY: LogSize = { bytes: 0, files: 0 };

export class Standby {
  readonly state: State;
  /** Publishes the replayed entries, as an authority publishes its own. */
  readonly feed = new Feed();
  /** The bytes behind what the state refers to. */
  readonly log: Pick<Log, 'read'> = { read: (reference) => this.bytesOf(reference) };
  /** The leader at the last look. */
  leader: Leader | null = null;
  /** Why the last look failed, as a sentence for callers; null after one that succeeded. */
  trouble: string | null = null;
  /** The fault of applying an entry, if that failed: the next try would fail with the same. */
  replayFault: unknown = null;
  /** How many images and entries were received; it grows while the database answers. */
  received = 0;
  private followed: FollowedLog | null = null;
  /** Ends a replay whose caller no longer waits. */
  private readonly opening = new AbortController();
  private hasEnded = false;
  private batch: LoggedEntry[] = [];
  private readonly endCalls = new Set<() => void>();
  private readonly ownUrls: readonly string[];
  /** Resolves after the newest look; never rejects. */
  private looking: Promise<unknown> = Promise.resolve();

  /** `ownUrls`: the URLs of this standby itself. */
  constructor(hashSeed: number, ownUrls: readonly string[] = []) {
    this.state = createState(hashSeed);
    this.ownUrls = ownUrls;
  }

  /** Replays the log; until that is done there is nothing to read. */
  async open(engine: Engine): Promise<void> {
    const followed = await engine.follow!(this.replay(), this.opening.signal);
    this.batch = [];
    if (this.hasEnded) {
      // The caller has stopped waiting for it.
      await followed.close();
      throw over();
    }
    this.followed = followed;
  }

  /** Whether it has replayed the log and has not ended since. */
  get isWarm(): boolean {
    return this.followed !== null;
  }

  get position(): LogPosition {
    return this.followed?.position ?? NOWHERE;
  }

  get size(): LogSize {
    return this.followed?.size ?? EMPTY;
  }

  /** The URL of the leader; null when there is no leader, it has none, or it is this server's own. */
  get leaderUrl(): string | null {
    const url = this.leader?.url || null;
    // A guard left by an earlier run of this server carries its URL.
    return url === null || this.ownUrls.includes(url) ? null : url;
  }

  /** What it answers to calls that only a leader decides. */
  get refusal(): Refusal {
    const { leaderUrl, trouble } = this;
    return {
      refused: 'NOT_LEADER',
      ...(trouble === null
        ? {}
        : { detail: `This server does not lead, and cannot tell who does: ${trouble}` }),
      ...(leaderUrl === null ? {} : { leaderUrl }),
    };
  }

  /** Replays what was written since, and reads who leads. */
  catchUp(): Promise<Leader | null> {
    const look = this.look();
    this.looking = look.catch(() => undefined);
    return look;
  }

  /** Aborts a look that gets no answer; what was received stays, and the next look continues there. */
  async hangUp(): Promise<void> {
    this.followed?.hangUp();
    // Two concurrent looks would apply the same entries twice.
    await this.looking;
  }

  /** Tries to become the writer; null while another process is. The replayed state becomes that of the writer. */
  async lead(): Promise<Log | null> {
    const log = await this.followed!.lead();
    this.publish();
    if (log !== null) this.end();
    return log;
  }

  /** Throws after the end: the state then belongs to the writer and may hold entries that are not durable yet. */
  async read<T>(look: (view: ReadView) => T): Promise<T> {
    if (this.hasEnded) throw over();
    return look(this.view());
  }

  /** Calls once when this standby has ended; returns a function that removes the listener. */
  whenEnded(call: () => void): () => void {
    this.endCalls.add(call);
    return () => {
      this.endCalls.delete(call);
    };
  }

  async close(): Promise<void> {
    const { followed } = this;
    this.end();
    this.opening.abort();
    await followed?.close();
  }

  private async look(): Promise<Leader | null> {
    const followed = this.followed!;
    await followed.catchUp();
    this.publish();
    this.leader = await followed.leader();
    return this.leader;
  }

  private end(): void {
    this.hasEnded = true;
    this.followed = null;
    for (const call of this.endCalls) call();
    this.endCalls.clear();
  }

  private bytesOf(reference: Opaque): ReturnType<Log['read']> {
    if (this.followed === null) throw over();
    return this.followed.read(reference);
  }

  private view(): ReadView {
    return stillView(this.state, Math.max(this.followed?.nowMs() ?? 0, this.state.lastAtMs));
  }

  private replay(): Replay {
    const { image, entry } = replayInto(this.state);
    const taking = (take: () => void): void => {
      this.received += 1;
      try {
        take();
      } catch (fault) {
        this.replayFault = fault;
        throw fault;
      }
    };
    return {
      image: (record) => taking(() => image(record)),
      entry: (each, seq, atMs) => {
        taking(() => entry(each, seq, atMs));
        if (this.feed.wanted) this.batch.push({ seq, atMs, entry: each });
      },
    };
  }

  private publish(): void {
    const { batch } = this;
    this.batch = [];
    if (batch.length > 0) this.feed.publish(batch);
  }
}

function over(): LogClosedError {
  return new LogClosedError('This standby no longer follows the log.');
}
