/** Notifies the watchers of a task when its end is durable. One pass per batch, however many watchers there are. */

import type { Entry, TaskKey } from '../core/entries.ts';
import { taskIdOfKey } from '../core/entry-json.ts';
import type { LoggedEntry } from '../engines/log.ts';
import type { Feed } from './feed.ts';

export class EndWatch {
  private readonly watchers = new Map<string, Set<() => void>>();
  private readonly feed: Feed;
  private unfollow: (() => void) | null = null;

  constructor(feed: Feed) {
    this.feed = feed;
  }

  /** Calls once when the task ends; returns a function that ends the watch. */
  watch(taskId: string, ended: () => void): () => void {
    const watchers = this.watchers.get(taskId) ?? new Set();
    this.watchers.set(taskId, watchers);
    watchers.add(ended);
    this.unfollow ??= this.feed.follow(this.look);
    return () => {
      watchers.delete(ended);
      if (watchers.size === 0 && this.watchers.get(taskId) === watchers) this.watchers.delete(taskId);
      if (this.watchers.size === 0) {
        this.unfollow?.();
        this.unfollow = null;
      }
    };
  }

  private readonly look = (entries: readonly LoggedEntry[]): void => {
    for (const { entry } of entries) {
      const task = endedTask(entry);
      if (task === null) continue;
      for (const ended of [...(this.watchers.get(taskIdOfKey(task)) ?? [])]) ended();
    }
  };
}

function endedTask(entry: Entry): TaskKey | null {
  switch (entry.type) {
    case 'TaskCompleted':
    case 'TaskDead':
      return entry.task;
    case 'TaskFailed':
      return entry.nextState === 'FAILED' ? entry.task : null;
    default:
      return null;
  }
}
