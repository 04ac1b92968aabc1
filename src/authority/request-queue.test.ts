// What those take up who wait in lines.
import { describe, expect, it } from 'vitest';
import type { AcquireNames } from '../core/commands.ts';
import { Request } from './request.ts';
import { RequestQueue } from './request-queue.ts';

describe('calls that wait in lines', () => {
  it('count with every line they stand in, however short the names are', () => {
    const queue = new RequestQueue();
    const names = Array.from({ length: 1_000 }, (_, index) => index.toString(36));
    const command = { type: 'AcquireNames', names, metadata: null, waitMs: 1_000 } as unknown as AcquireNames;
    let kept = 0;
    for (; kept < 5_000; kept++) {
      if (!queue.offer(new Request(command, null, null, null, '', []))) break;
      queue.keep(queue.take()!);
    }
    // A place in a line takes some 250 bytes, so that these are a million places in 256 MiB.
    expect(kept).toBeLessThan(1_100);
    expect(kept).toBeGreaterThan(900);
  });
});
