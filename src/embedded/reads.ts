/**
 * The reads, each as one look in line with the changes: it sees what is durable when its answer leaves. A standby has
 * the same ones as far as they need nothing but the state, and sees what was durable when it last looked.
 */
import type { Authority } from '../authority/authority.ts';
import type { Feed } from '../authority/feed.ts';
import { countAll, guardHolder, leasesByWorker, listQueues, type ReadView } from '../authority/reads.ts';
import type { CallOptions } from '../authority/request.ts';
import type { SessionBeats } from '../authority/sessions/session-beats.ts';
import type { Standby } from '../authority/standby.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Log } from '../engines/log.ts';
import { instant } from '../protocol/instant.ts';
import type { Body } from '../protocol/replies.ts';
import type { Requests } from '../protocol/requests.ts';
import type { Operation } from '../protocol/routes.ts';
import type { Timers } from '../seams/clock.ts';
import type { ChangeOperation } from './changes.ts';
import { historyReads } from './history-reads.ts';
import { leaseReads } from './lease-reads.ts';
import { queueRecord, receiptRecord, workerRecord } from './records.ts';
import { sessionReads } from './session-reads.ts';
import { taskReads } from './task-reads.ts';

export type ReadOperation = Exclude<Operation, ChangeOperation | 'whoami.get'>;

type ReadOptions = Pick<CallOptions, 'signal' | 'room'>;

export type Reads = {
  [Op in ReadOperation]: (request: Requests[Op], options?: ReadOptions) => Promise<Body<Op> | Refusal>;
};

/** Where the state is to be seen: at the writer, or at one who reads along. */
export interface StateSource {
  read<T>(look: (view: ReadView) => T): Promise<T>;
  readonly log: Pick<Log, 'read'>;
  readonly feed: Feed;
  whenEnded(call: () => void): () => void;
}

type LogReads = 'task.history' | 'lease.history';
type SoftReads = 'worker.list' | 'receipt.list';
type StateReads = Omit<Reads, LogReads | SoftReads | 'status.get'>;

function stateReads(source: StateSource, timers: Timers, beats?: SessionBeats): StateReads {
  return {
    ...taskReads(source, timers),
    ...leaseReads(source),
    ...sessionReads(source, beats),

    async 'queue.list'() {
      return { ok: true, queues: (await source.read(listQueues)).map(queueRecord) };
    },
  };
}

export function allReads(authority: Authority, timers: Timers): Reads {
  const { log } = authority;
  return {
    ...stateReads(authority, timers, authority.soft.sessions),
    ...historyReads(authority, timers),

    /** Who was heard of lately; soft state that starts empty. */
    async 'worker.list'() {
      const workers = await authority.read((machine) =>
        authority.soft.workers.list(machine.batchAtMs, leasesByWorker(machine)),
      );
      return { ok: true, workers: workers.map(workerRecord) };
    },

    /** Refused writes, newest first. Evidence, not truth: they do not survive a restart. */
    async 'receipt.list'({ object_id: objectId = null, code = null, limit = 100 }) {
      // In line with the changes: a receipt names a fence, which may have been granted in a batch not durable yet.
      const receipts = await authority.read(() => authority.soft.receipts.list(objectId, code, limit));
      return { ok: true, receipts: receipts.map(receiptRecord) };
    },

    'status.get': () =>
      authority.read((machine) => ({
        ok: true,
        role: 'leader',
        ...figures(machine),
        first_seq: log.position.firstSeq,
        epoch: log.epoch,
        log_bytes: log.size.bytes,
        disk_full: log.full,
      })),
  };
}

/** What a standby can say without asking the writer. */
export function standbyReads(standby: Standby, timers: Timers): StateReads & Pick<Reads, 'status.get'> {
  return {
    ...stateReads(standby, timers),

    'status.get': () =>
      standby.read((view) => ({
        ok: true,
        role: 'standby',
        ...figures(view),
        first_seq: standby.position.firstSeq,
        epoch: view.state.epoch,
        log_bytes: standby.size.bytes,
        // Whoever writes nothing needs no room.
        disk_full: false,
        leader_url: standby.leaderUrl,
      })),
  };
}

function figures(
  view: ReadView,
): Pick<Body<'status.get'>, 'seq' | 'last_commit' | 'guard_holder' | 'counts'> {
  const { lastSeq, lastAtMs } = view.state;
  return {
    seq: lastSeq,
    last_commit: instant(lastAtMs),
    guard_holder: guardHolder(view),
    counts: countAll(view),
  };
}
