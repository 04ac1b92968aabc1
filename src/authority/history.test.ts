// The past of a subject: a pass over the log that leaves room for others and ends with its reader.
import { describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { Entry } from '../core/entries.ts';
import type { Log, LoggedEntry } from '../engines/log.ts';
import { history, touchesName } from './history.ts';

const ENTRIES = 100_000;
const ALL = { fromSeq: 1, toSeq: ENTRIES, limit: 1_000 };

/** A log that counts how far it was read. */
function longLog(): { readonly log: Log; readonly read: () => number } {
  let seq = 0;
  async function* entries(fromSeq: number): AsyncGenerator<LoggedEntry> {
    for (seq = fromSeq; seq <= ENTRIES; seq++) {
      yield { seq, atMs: 0, entry: { type: 'QueuePaused', queue: 'q' } };
    }
  }
  return { log: { entries, position: { firstSeq: 1, lastSeq: ENTRIES } } as unknown as Log, read: () => seq };
}

describe('a history', () => {
  it('ends when its caller has gone', async () => {
    const world = new ManualWorld();
    const { log, read } = longLog();
    const leaving = new AbortController();
    const found = history(log, ALL, touchesName('n'), {
      timers: world.timers,
      signal: leaving.signal,
    });
    leaving.abort(new Error('gone'));
    await expect(world.finish(found)).rejects.toThrow('gone');
    expect(read()).toBeLessThan(ENTRIES / 10);
  });

  it('lets others have their turn on its way', async () => {
    const world = new ManualWorld();
    const { log, read } = longLog();
    let readBefore = -1;
    const found = history(log, ALL, touchesName('n'), { timers: world.timers, signal: undefined });
    world.timers.soon(() => {
      readBefore = read();
    });
    expect(await world.finish(found)).toEqual({ entries: [], next: null });
    expect(readBefore).toBeLessThan(ENTRIES / 10);
  });
});

describe('the history of a name', () => {
  const RESTORED: Entry = { type: 'EpochStarted', epoch: 2, format: 'leasehold', version: 1, restored: true };
  const leased = { type: 'NameLeased', names: ['n'] } as unknown as Entry;
  const renewed = { type: 'NameRenewed', name: 'n' } as unknown as Entry;
  const released = { type: 'NameReleased', name: 'n' } as unknown as Entry;
  const touched = (...entries: Entry[]): boolean[] => {
    const touches = touchesName('n');
    return entries.map((entry, index) => touches(entry, index + 1));
  };

  it('has the restore that ended its lease, once', () => {
    expect(touched(leased, RESTORED, RESTORED)).toEqual([true, true, false]);
    expect(touched(renewed, RESTORED)).toEqual([true, true]);
  });

  it('has no restart, and no restore while the name was free', () => {
    expect(touched(leased, { ...RESTORED, restored: false })).toEqual([true, false]);
    expect(touched(RESTORED, leased, released, RESTORED)).toEqual([false, true, true, false]);
  });
});
