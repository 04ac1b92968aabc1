// The types of the entries that a follower of a handle has received so far. The array grows.
import type { Leasehold } from '../../src/client/leasehold.ts';

export function heardBy(lh: Leasehold, options: { signal?: AbortSignal } = {}): string[] {
  const heard: string[] = [];
  const entries = lh.follow(options);
  const listen = async (): Promise<void> => {
    for await (const entry of entries) heard.push(entry.type);
  };
  // A handle that dies is reported by other means.
  listen().catch(() => undefined);
  return heard;
}
