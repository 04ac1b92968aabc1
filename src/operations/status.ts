/** `status.get`: role, position and counts of a server. */
import { Type } from '@sinclair/typebox';
import { countAll, guardHolder } from '../authority/reads.ts';
import { instant } from '../protocol/instant.ts';
import { fields, note, stale } from './fields.ts';
import { stateRead } from './operation.ts';
import { Flag, Instant, Seq, Text, Whole } from './reply-fields.ts';

export const Status = Type.Object({
  role: Type.Union([Type.Literal('leader'), Type.Literal('standby')]),
  seq: note(Seq, 'the newest entry'),
  first_seq: note(Seq, 'the oldest entry that is kept'),
  first_at: Type.Optional(note(Instant, 'the time of the oldest entry that is kept, if it is known')),
  epoch: note(Whole, 'the epoch of the writer; it rises with every new writer, and may skip numbers'),
  last_commit: note(Instant, 'the time of the newest entry'),
  forgotten_through: Type.Union([Instant, Type.Null()], {
    description: 'the latest end of a forgotten task; a task that ended later is still known',
  }),
  log_bytes: note(Whole, 'the size of the log'),
  disk_full: note(Flag, 'whether creates, writes and grants are refused because the disk is full'),
  clock_off_ms: Type.Union([Type.Integer(), Type.Null()], {
    description:
      "the leader's time minus the wall clock of its machine; more than a minute either way delays schedules and needs attention",
  }),
  leader_url: Type.Optional(
    Type.Union([Text, Type.Null()], { description: 'the URL of the leader, if the standby knows it' }),
  ),
  log_trouble: Type.Optional(
    Type.Union([Text, Type.Null()], {
      description:
        'of a standby: why it cannot read the log now, for example because the database is away; the other fields are then what it read before',
    }),
  ),
  guard_holder: Type.Union([Text, Type.Null()], {
    description: 'the holder of the guard of the orchestrator',
  }),
  counts: Type.Object({
    tasks: Type.Object({ WAITING: Whole, LEASED: Whole, COMPLETED: Whole, FAILED: Whole, DEAD: Whole }),
    leases: note(Whole, 'live named leases'),
    names: note(Whole, 'names that are remembered, leased or not'),
    waiters: note(Whole, 'callers in line'),
    sessions: Type.Object({
      NEW: Whole,
      STARTING: Whole,
      READY: Whole,
      STOPPING: Whole,
      STOPPED: Whole,
      FAILED: Whole,
      CANCELLED: Whole,
    }),
  }),
});

export const getStatus = stateRead({
  name: 'status.get',
  path: '/v1/status',
  does: 'Show role, position, epoch, guard holder, counts and the last commit.',
  details: `[Operating](operating.md#what-to-watch) explains the fields. A standby answers for itself, with \`leader_url\`, which is null
when there is no leader or it would name itself, and \`log_trouble\`. While its \`seq\` is 0 it has not read the log yet, and its counts mean nothing.

For an earlier moment \`seq\` and \`last_commit\` are the position that was found, so this call turns an instant into a
position; \`role\`, \`first_seq\`, \`first_at\`, \`log_bytes\`, \`clock_off_ms\` and \`disk_full\` are the present ones, and \`waiters\` is 0. Earlier
moments reach from \`first_seq\` to \`seq\`.`,
  request: fields({ stale }),
  reply: Status,
  refusals: [],
  example: {
    request: {},
    reply: {
      role: 'leader',
      seq: 54,
      first_seq: 1,
      first_at: '2026-01-05T08:00:00.000Z',
      epoch: 3,
      last_commit: '2026-01-05T08:01:04.000Z',
      forgotten_through: '2026-01-04T08:01:02.000Z',
      log_bytes: 9_216,
      disk_full: false,
      clock_off_ms: 0,
      guard_holder: null,
      counts: {
        tasks: { WAITING: 3, LEASED: 1, COMPLETED: 120, FAILED: 0, DEAD: 0 },
        leases: 1,
        names: 2,
        waiters: 0,
        sessions: { NEW: 0, STARTING: 0, READY: 1, STOPPING: 0, STOPPED: 12, FAILED: 1, CANCELLED: 0 },
      },
    },
  },
  look: (_, { source, figures }) =>
    source.read((view) => {
      const { lastSeq, lastAtMs, forgottenThroughMs } = view.state;
      return {
        ok: true as const,
        ...figures(view),
        seq: lastSeq,
        last_commit: instant(lastAtMs),
        forgotten_through: forgottenThroughMs === 0 ? null : instant(forgottenThroughMs),
        guard_holder: guardHolder(view),
        counts: countAll(view),
      };
    }),
});
