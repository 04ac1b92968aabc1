// Reads a log as an observer would and says whether sessions ever had more than there is: one session on a slot, one holder
// of a name, at every position. It knows nothing of the rules that wrote the log.
import { expect } from 'vitest';

/** An entry as it stands on the wire. */
export interface LogEntry {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly session_id?: string;
  readonly state?: string;
  readonly reason?: string | null;
  readonly reason_detail?: string | null;
  readonly slot?: string;
  readonly lease_seq?: number;
  readonly name?: string;
  readonly names?: readonly string[];
  readonly holder?: string;
  readonly prefix?: string;
  readonly expires_at?: string;
  readonly task_id?: string;
}

export const TERMINAL = ['STOPPED', 'FAILED', 'CANCELLED'];

const GUARDS = 'system:';
/** Entries that end the lease of a name. */
const ENDS = ['NameReleased', 'NameExpired', 'NameBroken'];

/** Who runs where and who holds what at the end of the log, when nothing was wrong on the way. */
export interface LogEnd {
  readonly slots: ReadonlyMap<string, string>;
  readonly names: ReadonlyMap<string, string>;
}

export function readSessionLog(entries: readonly LogEntry[], tuners: readonly string[]): LogEnd {
  const slots = new Map<string, string>();
  const names = new Map<string, string>();
  const starts = new Set<string>();
  const free = (isOver: (name: string, holder: string) => boolean): void => {
    for (const [name, holder] of names) if (isOver(name, holder)) names.delete(name);
  };
  for (const entry of entries) {
    const where = `at seq ${entry.seq}`;
    if (entry.type === 'NameLeased') {
      for (const name of entry.names!) {
        // A session that has its service already takes it together with its slot once more.
        expect([undefined, entry.holder], `${name} is taken once ${where}`).toContain(names.get(name));
        names.set(name, entry.holder!);
      }
    } else if (ENDS.includes(entry.type)) names.delete(entry.name!);
    else if (entry.type === 'NamesWiped') {
      free((name) => name.startsWith(entry.prefix!) && !name.startsWith(GUARDS));
    } else if (entry.type === 'SessionChanged') {
      const { session_id: id = '', state = '', slot = '' } = entry;
      if (state === 'STARTING') {
        expect(starts.has(id), `${id} starts once ${where}`).toBe(false);
        expect(slots.get(slot), `slot ${slot} is free ${where}`).toBeUndefined();
        expect(tuners, `slot ${slot} exists ${where}`).toContain(slot);
        expect(names.get(`lease:tuner:${slot}`), `slot ${slot} is leased ${where}`).toBe(id);
        starts.add(id);
        slots.set(slot, id);
      } else if (TERMINAL.includes(state)) {
        if (slots.get(slot) === id) slots.delete(slot);
        free((_, holder) => holder === id);
      }
    }
    expect(slots.size, `sessions that run ${where}`).toBeLessThanOrEqual(tuners.length);
  }
  return { slots, names };
}
