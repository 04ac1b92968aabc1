/** The types of the records in replies. */
import type { Static } from '@sinclair/typebox';
import type { Replies } from './table.ts';
import type { TaskLease } from './task-lease.ts';

export type { EntryRecord } from './histories.ts';
export type TaskRecord = Replies['task.get'];
export type TaskLeaseRecord = Static<typeof TaskLease>;
export type LeaseRecord = Replies['lease.get'];
export type SessionRecord = Replies['session.get'];
export type ObjectRecord = Replies['object.get'];
export type WorkerRecord = Replies['worker.list']['workers'][number];
export type QueueRecord = Replies['queue.list']['queues'][number];
export type ReceiptRecord = Replies['receipt.list']['receipts'][number];
