/** Why a due time of a schedule made no task: `skipped` of a `ScheduleFired` entry. `leasehold explain` shows these texts. */
import type { Skip } from '../core/entries.ts';

interface SkipText {
  readonly says: string;
  readonly when: string;
  readonly todo: string;
}

export const SKIP_CODES = {
  OVERLAP: {
    says: 'A task of the schedule had not ended.',
    when: 'The schedule has `overlap: "skip"`, and a task of an earlier due time was waiting or leased.',
    todo: 'Find that task with `leasehold task ls --queue QUEUE` and `leasehold task why ID`; `--overlap allow` lets tasks of the schedule run side by side.',
  },
  TASK_EXISTS: {
    says: 'A task with the id of this due time was there already.',
    when: 'The task of a due time is NAME@DUE_AT, and a task with that id was created by other means.',
    todo: 'Look at it with `leasehold task show ID`, and let nothing else create ids of this form.',
  },
  CATCH_UP: {
    says: 'The due time passed while no server ran.',
    when: 'After downtime `catch_up: "one"` fires the latest missed due time only, `"none"` fires none, and `"all"` at most 1 000.',
    todo: 'Nothing, if that is what you want; else `leasehold schedule fire NAME`, or set `--catch-up all`.',
  },
  PAYLOAD_DAMAGED: {
    says: 'The payload of the schedule is damaged.',
    when: 'Its bytes in the log are no longer what they were, so no task can have a copy of it.',
    todo: 'Set the schedule again with its payload, check the disk, and run `leasehold wal verify` on a copy of the log.',
  },
} as const satisfies Record<Skip, SkipText>;
