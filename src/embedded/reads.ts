/** The reads, each as one look in line with the changes: it sees what is durable when its answer leaves. */
import type { Authority } from '../authority/authority.ts';
import { countAll, guardHolder, leasesByWorker, listQueues } from '../authority/reads.ts';
import type { Timers } from '../authority/seams.ts';
import type { Refusal } from '../core/refusals.ts';
import { instant } from '../protocol/instant.ts';
import type { Body } from '../protocol/replies.ts';
import type { Requests } from '../protocol/requests.ts';
import type { Operation } from '../protocol/routes.ts';
import type { ChangeOperation } from './changes.ts';
import { leaseReads } from './lease-reads.ts';
import { queueRecord, workerRecord } from './records.ts';
import { sessionReads } from './session-reads.ts';
import { taskReads } from './task-reads.ts';

export type ReadOperation = Exclude<Operation, ChangeOperation>;

export type Reads = {
  [Op in ReadOperation]: (request: Requests[Op], signal?: AbortSignal) => Promise<Body<Op> | Refusal>;
};

export function allReads(authority: Authority, timers: Timers): Reads {
  const { log } = authority;
  return {
    ...taskReads(authority, timers),
    ...leaseReads(authority),
    ...sessionReads(authority),

    async 'queue.list'() {
      return { ok: true, queues: (await authority.read(listQueues)).map(queueRecord) };
    },

    /** Who was heard of lately; soft state that starts empty. */
    async 'worker.list'() {
      const workers = await authority.read((machine) =>
        authority.soft.workers.list(machine.batchAtMs, leasesByWorker(machine)),
      );
      return { ok: true, workers: workers.map(workerRecord) };
    },

    'status.get': () =>
      authority.read((machine) => ({
        ok: true,
        role: 'leader',
        seq: machine.state.lastSeq,
        first_seq: log.position.firstSeq,
        epoch: log.epoch,
        last_commit: instant(machine.state.lastAtMs),
        log_bytes: log.size.bytes,
        disk_full: log.full,
        guard_holder: guardHolder(machine),
        counts: countAll(machine),
      })),
  };
}
