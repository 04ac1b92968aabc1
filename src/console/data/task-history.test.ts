// The attempts of a task, told from its entries.
import { describe, expect, it } from 'vitest';
import { attemptsOf, type LogEntry } from './task-history.ts';

const at = (second: number): string => new Date(second * 1_000).toISOString();
const entry = (seq: number, second: number, type: string, fields: object = {}): LogEntry =>
  ({ seq, at: at(second), type, ...fields }) as unknown as LogEntry;

describe('the attempts of a task', () => {
  it('are its leases, with a late verdict as what it is', () => {
    const attempts = attemptsOf([
      entry(1, 0, 'TaskCreated'),
      entry(2, 1, 'LeaseGranted', { lease_id: 'a', attempt: 1, worker_id: 'w7', expiry_timestamp: at(11) }),
      entry(3, 5, 'LeaseExtended', { lease_id: 'a', new_expiry_timestamp: at(15) }),
      entry(4, 6, 'TaskCheckpointed', { lease_id: 'a' }),
      entry(5, 15, 'LeaseExpired', { lease_id: 'a' }),
      entry(6, 16, 'LeaseGranted', { lease_id: 'b', attempt: 2, worker_id: 'w3', expiry_timestamp: at(26) }),
      entry(7, 17.3, 'TaskCancelled', { lease_id: 'a', verb: 'complete' }),
      entry(8, 18, 'TaskFailed', { lease_id: 'b', reason: 'exit 1' }),
      entry(9, 20, 'LeaseGranted', { lease_id: 'c', attempt: 3, worker_id: 'w3', expiry_timestamp: at(30) }),
    ]);
    expect(attempts.map(({ number, workerId, end, reason }) => [number, workerId, end, reason])).toEqual([
      [1, 'w7', 'expired', null],
      [2, 'w3', 'failed', 'exit 1'],
      [3, 'w3', 'live', null],
    ]);
    const [first] = attempts;
    expect([first?.extensions.length, first?.checkpoints.length, first?.late]).toEqual([
      1,
      1,
      { atMs: 17_300, verb: 'complete', byMs: 2_300 },
    ]);
  });
});
