/**
 * The entries of a subject as far back as the log reaches, page by page: `task.history`, `lease.history`. A cursor is the
 * position to continue from. That of a name is followed by a dot and its newest grant before that position, because some
 * entries can only be attributed by it.
 */
import { type Static, Type } from '@sinclair/typebox';
import { type HistoryPage, history, touchesName, touchesTask } from '../authority/history.ts';
import { readName, readTask } from '../authority/reads.ts';
import type { Log } from '../engines/log.ts';
import { entryBodies } from './entry-bodies.ts';
import {
  COMPLETED_ENTRY,
  CREATED_ENTRY,
  GRANTED_ENTRY,
  REPORT,
  REPORT_TIMES,
  TASK_ID,
} from './example-story.ts';
import {
  cursorOf,
  fields,
  LeaseName,
  Limit,
  note,
  OPAQUE,
  Seq as Position,
  stale,
  TaskId,
} from './fields.ts';
import { leaderRead } from './operation.ts';
import { Instant, NextCursor, Seq, Text } from './reply-fields.ts';

/** One entry of the log; the other fields depend on its type. */
export type EntryRecord = { readonly seq: number; readonly at: string; readonly type: string } & Record<
  string,
  unknown
>;

export const Entry = Type.Unsafe<EntryRecord>(
  Type.Object({ seq: Seq, at: Instant, type: Text }, {
    additionalProperties: true,
    [OPAQUE]: true,
    description: 'one entry of the log; the other fields depend on its type',
  } as object),
);

export const Entries = Type.Object({
  entries: Type.Array(Entry),
  first_seq: Type.Integer({
    description: 'the oldest position that is kept; earlier entries are missing',
  }),
  next_cursor: NextCursor,
});

const ENTRIES_A_PAGE = 1_000;

/** Which part of a history; each history has its own form of cursor. */
function range(from: string, cursor: string) {
  return {
    from: Type.Optional(note(Position, from)),
    limit: Type.Optional(
      note(Limit, 'How many at most; 1 000 by default. A page ends early once it has 4 MiB.'),
    ),
    cursor: Type.Optional(cursorOf(cursor)),
    stale,
  };
}

const FROM = 'The first position to read; by default the first that is kept.';

export const taskHistory = leaderRead({
  name: 'task.history',
  path: '/v1/tasks/{task_id}/history',
  long: 'history',
  does: 'Every entry that touched a task, as far back as the log reaches, page by page.',
  details: `Oldest first. A restore that ended a lease of the task is included (\`EpochStarted\`). The call scans the log, so do
not poll it. Entries before \`first_seq\` are no longer kept.`,
  request: fields({ task_id: TaskId, ...range(FROM, '^[0-9]{1,16}$') }),
  reply: Entries,
  refusals: ['TASK_NOT_FOUND'],
  example: {
    request: { task_id: TASK_ID },
    reply: { entries: [CREATED_ENTRY, GRANTED_ENTRY, COMPLETED_ENTRY], first_seq: 1 },
  },
  async look(
    { task_id: taskId, from = 1, limit = ENTRIES_A_PAGE, cursor },
    { authority, timers },
    { signal },
  ) {
    const { log } = authority;
    const image = await authority.read((machine) => readTask(machine, taskId));
    if (image === null) return { refused: 'TASK_NOT_FOUND' };
    const { createdSeq, lastSeq: toSeq } = image;
    const fromSeq = Math.max(createdSeq, cursor === undefined ? from : Number(cursor));
    const page = await history(log, { fromSeq, toSeq, limit }, touchesTask(image), {
      timers,
      signal,
    });
    return body(log, page, String(page.next));
  },
});

export const leaseHistory = leaderRead({
  name: 'lease.history',
  path: '/v1/leases/{name}/history',
  long: 'history',
  does: 'Every entry that touched a name, as far back as the log reaches, page by page.',
  details: `Entries about the name and about its object. A restore that ended its lease is included (\`EpochStarted\`). With a
\`lease_seq\` as \`from\` the page has everything about that grant and what followed. \`LEASE_NOT_FOUND\`: the name is unknown.`,
  request: fields({
    name: LeaseName,
    ...range(`${FROM} From a grant on, all entries about it are included.`, '^[0-9]{1,16}\\.[0-9]{1,16}$'),
  }),
  reply: Entries,
  refusals: ['LEASE_NOT_FOUND'],
  example: {
    request: { name: REPORT.name },
    reply: {
      entries: [
        {
          seq: 46,
          at: REPORT_TIMES.acquired_at,
          type: 'NameLeased',
          name: REPORT.name,
          names: [REPORT.name],
          holder: REPORT.holder,
          token_sha256: '5f2b1c0e9d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c',
          lease_seq: 46,
          acquired_at: REPORT_TIMES.acquired_at,
          expires_at: REPORT_TIMES.expires_at,
        },
      ],
      first_seq: 1,
    },
  },
  async look({ name, from = 1, limit = ENTRIES_A_PAGE, cursor }, { authority, timers }, { signal }) {
    const { log } = authority;
    // A forgotten name is not in the state, but may be in the log.
    const { image, lastSeq } = await authority.read((machine) => ({
      image: readName(machine, name),
      lastSeq: machine.state.lastSeq,
    }));
    const [fromSeq, grantedBefore] = (cursor ?? `${from}.0`).split('.').map(Number) as [number, number];
    const beginsWithLog = fromSeq === 1 && log.position.firstSeq === 1;
    const touches = touchesName(name, grantedBefore, beginsWithLog);
    const page = await history(log, { fromSeq, toSeq: image?.lastSeq ?? lastSeq, limit }, touches, {
      timers,
      signal,
    });
    const isKnown =
      image !== null || cursor !== undefined || page.entries.some(({ entry }) => entry.type !== 'NamesWiped');
    if (!isKnown) {
      return { refused: 'LEASE_NOT_FOUND', detail: 'The log has no entry about this name.' };
    }
    const granted = page.entries.findLast(({ entry }) => entry.type === 'NameLeased')?.seq ?? grantedBefore;
    return body(log, page, `${page.next}.${granted}`);
  },
});

async function body(
  log: Log,
  { entries, next }: HistoryPage,
  cursor: string,
): Promise<{ readonly ok: true } & Static<typeof Entries>> {
  return {
    ok: true,
    entries: await entryBodies(log, entries),
    first_seq: log.position.firstSeq,
    ...(next === null ? {} : { next_cursor: cursor }),
  };
}
