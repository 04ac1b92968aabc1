/** Why the authority itself ends a task as DEAD: what each reason means and what to do about it, for `leasehold explain`. */
export const TASK_REASONS = {
  ATTEMPTS_EXHAUSTED: {
    says: 'The task used up its attempts.',
    when: 'Its leases have run out, or its workers have failed, as many times as `max_attempts` allows: 100 unless the task says otherwise. Releases do not count, nor do leases that ran out while the server was down.',
    todo: 'Look at its leases with `leasehold task show` and at its workers: most often it kills them, or its handler takes longer than the lease without renewing it. Run it again with `task.requeue` once that is fixed.',
  },
  CANCELLED: {
    says: 'The task was cancelled.',
    when: 'A caller cancelled it while it was waiting, or while it was leased and its worker then did not complete it. `reason_detail` has the words of the caller.',
    todo: 'Nothing, if that was intended. A cancelled task is never leased again; `task.requeue` runs it again as a new task.',
  },
  PAYLOAD_DAMAGED: {
    says: 'The payload of the task cannot be read any more.',
    when: 'Its bytes in the log do not fit their checksum when it was about to be leased. Nothing else is affected.',
    todo: 'Create the task again from its source. Check the disk, and the whole log with `leasehold wal verify`.',
  },
} as const;
