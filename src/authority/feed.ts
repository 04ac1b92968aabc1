/** The event feed: each batch is delivered to the followers of the log once it is durable, and never before. */
import type { LoggedEntry } from '../engines/log.ts';

export type Follower = (entries: readonly LoggedEntry[]) => void;

export class Feed {
  private readonly followers = new Set<Follower>();
  private readonly listeners = new Set<() => void>();

  /** Whether there are followers: without any, a standby keeps no entries for them. */
  get wanted(): boolean {
    return this.followers.size > 0;
  }

  /** Delivers the entries of every batch from now on, until the returned function is called. */
  follow(follower: Follower): () => void {
    this.followers.add(follower);
    return () => {
      this.followers.delete(follower);
    };
  }

  /** Calls after every batch that becomes durable from now on, for listeners that read the log themselves. */
  onBatch(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** Delivers a batch that is durable. */
  publish(entries: readonly LoggedEntry[]): void {
    for (const follower of this.followers) follower(entries);
    for (const listener of this.listeners) listener();
  }
}
