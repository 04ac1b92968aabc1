// The types of the entries a follower of a handle has heard of so far; the array grows as they come.
import type { Leasehold } from '../../src/client/leasehold.ts';

export function heardBy(lh: Leasehold, options: { signal?: AbortSignal } = {}): string[] {
  const heard: string[] = [];
  const entries = lh.follow(options);
  const listen = async (): Promise<void> => {
    for await (const entry of entries) heard.push(entry.type);
  };
  // A handle that dies under its follower is told to everybody else too.
  listen().catch(() => undefined);
  return heard;
}
