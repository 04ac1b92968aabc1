/** The codes of `leasehold task why`: what each means and what to do about it. `leasehold explain` shows these texts. */
import type { WhyCode } from '../core/why.ts';

interface WhyText {
  readonly says: string;
  readonly when: string;
  readonly todo: string;
}

export const WHY_CODES = {
  DELAYED: {
    says: 'The task is not due yet.',
    when: 'It was created, released or failed with a delay that has not passed.',
    todo: 'Wait; the sentence says for how long.',
  },
  BACKOFF: {
    says: 'The task failed and is retried after a pause.',
    when: 'Its last attempt failed. The pause doubles with each failure, up to `max_backoff_ms`.',
    todo: 'Look at the reason of the failure with `leasehold task show`. The task is retried without your help.',
  },
  WAITING_FOR_WORKER: {
    says: 'The task is due, and no worker has taken it.',
    when: 'No worker polls its queue, all that do are busy, or tasks with a higher priority or an earlier place go first.',
    todo: 'Look at `leasehold workers` and `leasehold queue ls`; start a worker for the queue, or more of them.',
  },
  QUEUE_PAUSED: {
    says: 'The queue is paused.',
    when: '`leasehold queue pause` was called. Tasks that are running go on; no other is leased.',
    todo: '`leasehold queue resume`.',
  },
  LIMITED_BY_QUEUE: {
    says: 'The queue has as many tasks leased as its limit allows.',
    when: 'The queue has a `max_leased`, and that many of its tasks are running.',
    todo: 'Wait until one of them ends, or raise the limit with `leasehold queue limit`.',
  },
  LIMITED_BY_KEY: {
    says: 'The key of the task has as many tasks leased as its limit allows.',
    when: 'The queue has a `max_leased_per_key`, and that many tasks with the same key are running. Other keys go on.',
    todo: 'Wait until one of them ends, or raise the limit with `leasehold queue limit`.',
  },
  RATE_LIMITED: {
    says: 'The rate of the queue, or of the key, is used up for now.',
    when: 'The queue has a `rate`, and that many tasks were leased within the interval. `opens_at` says when the next one may be.',
    todo: 'Wait, or raise the rate with `leasehold queue limit`.',
  },
  LEASED: {
    says: 'The task is running.',
    when: 'A worker has a lease on it. The sentence says which worker, and how long the lease still lasts.',
    todo: 'Nothing. If the worker is gone, the task is leased again when the lease has expired.',
  },
  COMPLETED: {
    says: 'The task has been completed.',
    when: 'A worker completed it. It never runs again.',
    todo: 'Nothing. `leasehold task show` has the result.',
  },
  FAILED: {
    says: 'The task has failed for good.',
    when: 'It failed `max_failures` times, or a worker failed it without a retry. It never runs again.',
    todo: 'Look at the reason with `leasehold task show`.',
  },
  DEAD: {
    says: 'The task is dead.',
    when: 'It was killed, or the authority ended it. The sentence has the reason; `leasehold explain` knows those of the authority.',
    todo: 'Look at the reason with `leasehold task show`, and at its past with `leasehold task history`.',
  },
} as const satisfies Record<WhyCode, WhyText>;
