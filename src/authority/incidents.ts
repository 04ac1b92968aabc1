/**
 * Recent incidents, for an operator who has just opened the console: leases that expired or were broken, late verdicts,
 * tasks that failed or died. Soft state, bounded, noted as entries are written; it starts empty, decides nothing, and its
 * cost does not depend on the length of the log.
 */
import type { Entry, TaskKey } from '../core/entries.ts';
import { taskIdOfKey } from '../core/entry-json.ts';
import { isSystemQueue } from '../core/reserved-names.ts';
import type { State } from '../core/state.ts';
import { findLease } from '../core/verdicts.ts';

export type IncidentType =
  | 'LeaseExpired'
  | 'TaskCancelled'
  | 'TaskFailed'
  | 'TaskDead'
  | 'NameExpired'
  | 'NameBroken';

export interface Incident {
  readonly seq: number;
  readonly atMs: number;
  readonly type: IncidentType;
  readonly taskId: string | null;
  readonly queue: string | null;
  /** The worker that had the task, or the holder of the name. */
  readonly holder: string | null;
  readonly name: string | null;
  readonly reason: string | null;
}

const INCIDENTS_MAX = 1_000;
const EXPECTED_MAX = 10_000;
/** Older ones are not shown. */
const RECENT_MS = 10 * 60_000;

export class Incidents {
  private readonly ring: Incident[] = [];
  private next = 0;
  /** Leases whose holders have stopped renewing on purpose: their expiry is no incident. */
  private readonly expected = new Set<number>();

  expectEnd(leaseSeq: number): void {
    this.expected.add(leaseSeq);
    if (this.expected.size > EXPECTED_MAX) this.expected.delete(this.expected.values().next().value!);
  }

  /** Notes an entry that was just applied. */
  note(state: State, entry: Entry, seq: number, atMs: number): void {
    switch (entry.type) {
      case 'LeaseExpired':
      case 'TaskCancelled':
        return this.noteTask(state, seq, atMs, entry.type, entry.task, entry.leaseSeq, null);
      case 'TaskFailed':
        return this.noteTask(state, seq, atMs, entry.type, entry.task, entry.leaseSeq, entry.reason);
      case 'TaskDead':
        if (entry.reason === 'CANCELLED') return;
        return this.noteTask(state, seq, atMs, entry.type, entry.task, entry.leaseSeq, entry.reason);
      case 'NameExpired':
        if (this.expected.delete(entry.leaseSeq)) return;
        return this.noteName(state, seq, atMs, entry.type, entry.name, null);
      case 'NameBroken':
        return this.noteName(state, seq, atMs, entry.type, entry.name, entry.reason);
    }
  }

  /** Newest first. */
  recent(nowMs: number, limit: number): Incident[] {
    const found: Incident[] = [];
    for (let back = 1; back <= this.ring.length && found.length < limit; back++) {
      const incident = this.ring[(this.next - back + INCIDENTS_MAX) % INCIDENTS_MAX];
      if (incident === undefined || incident.atMs + RECENT_MS <= nowMs) break;
      found.push(incident);
    }
    return found;
  }

  private noteTask(
    state: State,
    seq: number,
    atMs: number,
    type: IncidentType,
    task: TaskKey,
    leaseSeq: number,
    reason: string | null,
  ): void {
    const { tasks } = state;
    const row = tasks.at(task);
    const queue = row === 0 ? null : tasks.queueNameOf(row);
    // Start tasks are left out: sessions report their ends themselves.
    if (queue !== null && isSystemQueue(queue)) return;
    const lease = row === 0 || leaseSeq === 0 ? 0 : findLease(state, row, leaseSeq);
    const holder = lease === 0 ? null : tasks.leases.workerId.get(lease);
    this.add({ seq, atMs, type, taskId: taskIdOfKey(task), queue, holder, name: null, reason });
  }

  private noteName(
    state: State,
    seq: number,
    atMs: number,
    type: IncidentType,
    name: string,
    reason: string | null,
  ): void {
    const row = state.names.find(name);
    const holder = row === 0 ? null : state.names.holderOf(row);
    this.add({ seq, atMs, type, taskId: null, queue: null, holder, name, reason });
  }

  private add(incident: Incident): void {
    this.ring[this.next] = incident;
    this.next = (this.next + 1) % INCIDENTS_MAX;
  }
}
