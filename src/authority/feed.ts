/** The event feed: each batch is delivered to the followers of the log once it is durable, and never before. */
import type { LoggedEntry } from '../engines/log.ts';

export type Follower = (entries: readonly LoggedEntry[]) => void;

export class Feed {
  private readonly followers = new Set<Follower>();
  private readonly listeners = new Set<() => void>();

  /** Whether there are followers for the entries of the batch that is being decided. */
  get wanted(): boolean {
    return this.followers.size > 0;
  }

  /** The entries of every batch that is decided from now on. Gives the call that ends it. */
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

  /** There are no entries when there was no follower while the batch was decided. */
  publish(entries: readonly LoggedEntry[]): void {
    if (entries.length > 0) for (const follower of this.followers) follower(entries);
    for (const listener of this.listeners) listener();
  }
}
