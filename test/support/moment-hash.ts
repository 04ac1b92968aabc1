// The hash of the state that the time machine shows at a position, whose payloads must be readable.
import { expect } from 'vitest';
import { type MomentLimits, Moments } from '../../src/authority/moments.ts';
import { imageOf } from '../../src/core/image-io.ts';
import { stateHash } from '../../src/core/state-hash.ts';
import { Pace } from '../../src/engines/pace.ts';
import type { LogPast, PastLog } from '../../src/engines/past.ts';
import { opaquesIn } from './chronicle.ts';

export function fewMoments(limits: MomentLimits = { moments: 3, rows: 1_000_000 }): Moments {
  return new Moments(new Pace(() => undefined), limits);
}

/** Closes the log, as the thread of the time machine does after each question. */
export async function momentHash(
  moments: Moments,
  past: LogPast,
  log: PastLog,
  seq: number,
): Promise<string> {
  try {
    const { state } = await moments.at(past, log, { seq, atMs: Number.POSITIVE_INFINITY });
    expect(state.lastSeq).toBe(seq);
    for (const opaque of opaquesIn([...imageOf(state)])) expect(await log.read(opaque)).not.toBeNull();
    return stateHash(state);
  } finally {
    await log.close();
  }
}
