/** The event feed: whoever follows the log hears each batch once it is durable, and never before. */
import type { LoggedEntry } from '../engines/log.ts';

export type Follower = (entries: readonly LoggedEntry[]) => void;

export class Feed {
  private readonly followers = new Set<Follower>();

  get wanted(): boolean {
    return this.followers.size > 0;
  }

  /** Gives the call that ends it. */
  follow(follower: Follower): () => void {
    this.followers.add(follower);
    return () => {
      this.followers.delete(follower);
    };
  }

  publish(entries: readonly LoggedEntry[]): void {
    for (const follower of this.followers) follower(entries);
  }
}
