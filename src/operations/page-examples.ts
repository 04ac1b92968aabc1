/** Examples of the pages: a batch, entries of the log, and the events of a session. */
import { CREATED_ENTRY, GRANTED_ENTRY, SESSION_ID, SESSION_LEASE } from './example-story.ts';
import { type BatchOperation, OPERATIONS } from './table.ts';

interface BatchExample {
  readonly request: {
    readonly ops: readonly {
      [Op in BatchOperation]: { readonly op: Op } & (typeof OPERATIONS)[Op]['example']['request'];
    }[BatchOperation][];
  };
  readonly reply: { readonly results: readonly { readonly status: number; readonly body: object }[] };
}

const { wait_ms: _, ...leaseWithoutWait } = OPERATIONS['task.lease'].example.request;

/** A worker completes a task and leases the next in one request. */
export const BATCH_EXAMPLE: BatchExample = {
  request: {
    ops: [
      { op: 'task.complete', ...OPERATIONS['task.complete'].example.request },
      { op: 'task.lease', ...leaseWithoutWait },
    ],
  },
  reply: {
    results: [
      { status: 200, body: OPERATIONS['task.complete'].example.reply },
      { status: 200, body: OPERATIONS['task.lease'].example.reply },
    ],
  },
};

export const LOG_REQUEST_EXAMPLE = {
  from: 42,
  limit: 2,
  follow: 1,
  types: ['TaskCreated', 'LeaseGranted'],
} as const;

const ENTRIES = [CREATED_ENTRY, GRANTED_ENTRY];

/** What `/v1/log` sends. */
export const LOG_EXAMPLE = ENTRIES.map((entry) => `${JSON.stringify(entry)}\n`).join('');

interface EntryExample {
  readonly seq: number;
  readonly type: string;
}

const eventText = (entry: EntryExample): string =>
  `id: ${entry.seq}\nevent: ${entry.type}\ndata: ${JSON.stringify(entry)}\n\n`;

/** What `/v1/events` sends. */
export const EVENTS_EXAMPLE = ENTRIES.map(eventText).join('');

/** What `/api/v3/sessions/{session_id}/events` sends. */
export const SESSION_EVENTS_EXAMPLE = [
  {
    seq: 59,
    at: '2026-01-05T08:02:00.250Z',
    type: 'SessionChanged',
    session_id: SESSION_ID,
    state: 'STARTING',
    reason: null,
    reason_detail: null,
    ...SESSION_LEASE,
  },
  {
    seq: 63,
    at: '2026-01-05T08:03:10.000Z',
    type: 'SessionChanged',
    session_id: SESSION_ID,
    state: 'FAILED',
    reason: 'R_PROCESS_ENDED',
    reason_detail: 'exit code 1',
    ...SESSION_LEASE,
  },
]
  .map(eventText)
  .join('');
