/**
 * Looking at the past of a subject, as far back as the log reaches, page by page. A cursor is the position to go on
 * from; that of a name has its newest grant before that position behind a dot, since some entries are told by it.
 */
import type { Authority } from '../authority/authority.ts';
import { type HistoryPage, history, touchesName, touchesTask } from '../authority/history.ts';
import { readName, readTask } from '../authority/reads.ts';
import type { Timers } from '../seams/clock.ts';
import { entryBodies } from './entry-bodies.ts';
import type { Reads } from './reads.ts';

const ENTRIES_A_PAGE = 1_000;

export function historyReads(
  authority: Authority,
  timers: Timers,
): Pick<Reads, 'task.history' | 'lease.history'> {
  const { log } = authority;
  const body = async ({ entries, next }: HistoryPage, cursor: string) => ({
    ok: true as const,
    entries: await entryBodies(log, entries),
    first_seq: log.position.firstSeq,
    ...(next === null ? {} : { next_cursor: cursor }),
  });
  return {
    async 'task.history'({ task_id: taskId, from = 1, limit = ENTRIES_A_PAGE, cursor }, { signal } = {}) {
      const image = await authority.read((machine) => readTask(machine, taskId));
      if (image === null) return { refused: 'TASK_NOT_FOUND' };
      const { createdSeq, lastSeq: toSeq } = image;
      const fromSeq = Math.max(createdSeq, cursor === undefined ? from : Number(cursor));
      const range = { fromSeq, toSeq, limit };
      const page = await history(log, range, touchesTask(image), { timers, signal });
      return body(page, String(page.next));
    },

    async 'lease.history'({ name, from = 1, limit = ENTRIES_A_PAGE, cursor }, { signal } = {}) {
      // A name that was forgotten has left the state, but maybe not the log.
      const { image, lastSeq } = await authority.read((machine) => ({
        image: readName(machine, name),
        lastSeq: machine.state.lastSeq,
      }));
      const [fromSeq, grantedBefore] = (cursor ?? `${from}.0`).split('.').map(Number) as [number, number];
      const range = { fromSeq, toSeq: image?.lastSeq ?? lastSeq, limit };
      const beginsWithLog = fromSeq === 1 && log.position.firstSeq === 1;
      const touches = touchesName(name, grantedBefore, beginsWithLog);
      const page = await history(log, range, touches, { timers, signal });
      const isKnown =
        image !== null ||
        cursor !== undefined ||
        page.entries.some(({ entry }) => entry.type !== 'NamesWiped');
      if (!isKnown) {
        return { refused: 'LEASE_NOT_FOUND', detail: 'The log knows nothing of this name.' };
      }
      const granted = page.entries.findLast(({ entry }) => entry.type === 'NameLeased')?.seq ?? grantedBefore;
      return body(page, `${page.next}.${granted}`);
    },
  };
}
