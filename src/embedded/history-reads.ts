/** Looking at the past of a subject, as far back as the log reaches. */
import type { Authority } from '../authority/authority.ts';
import { history, touchesName, touchesTask } from '../authority/history.ts';
import { readName, readTask } from '../authority/reads.ts';
import type { Timers } from '../authority/seams.ts';
import { entryBodies } from './entry-bodies.ts';
import type { Reads } from './reads.ts';

export function historyReads(
  authority: Authority,
  timers: Timers,
): Pick<Reads, 'task.history' | 'lease.history'> {
  const { log } = authority;
  return {
    async 'task.history'({ task_id: taskId }, signal) {
      const image = await authority.read((machine) => readTask(machine, taskId));
      if (image === null) return { refused: 'TASK_NOT_FOUND' };
      const found = await history(
        log,
        image.createdSeq,
        image.lastSeq,
        touchesTask(image.task, image.createdSeq),
        { timers, signal },
      );
      return { ok: true, entries: await entryBodies(log, found) };
    },

    async 'lease.history'({ name }, signal) {
      const image = await authority.read((machine) => readName(machine, name));
      if (image === null) return { refused: 'LEASE_NOT_FOUND' };
      const found = await history(log, 1, image.lastSeq, touchesName(name), { timers, signal });
      return { ok: true, entries: await entryBodies(log, found) };
    },
  };
}
