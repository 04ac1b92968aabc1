/**
 * What is measured, as data: the works with their widths (calls in flight), the figures that the report shows, and the
 * traps of each measurement. `measure.mjs` has the loop of each work; the plan, the help and the report follow from here.
 */

/** Whole bytes of a task's payload as JSON, for every peer. */
export const PAYLOAD_BYTES = 256;

const RATE = { figure: 'perSecond', says: 'per second', digits: 0 };
const CPU = [
  { figure: 'clientUs', says: 'client CPU µs', digits: 1 },
  { figure: 'serverUs', says: 'server CPU µs', digits: 1 },
];

export const WORKS = [
  {
    name: 'lifecycle',
    kind: 'queue',
    title: 'Task lifecycles',
    says: 'Tasks are enqueued with so many calls in flight, then a worker with that concurrency completes them all. A lifecycle is both halves.',
    widths: [1, 64, 1_024, 4_096],
    figures: [
      RATE,
      { figure: 'enqueuePerSecond', says: 'enqueue/s', digits: 0 },
      { figure: 'workPerSecond', says: 'work off/s', digits: 0 },
      ...CPU,
    ],
    limitMs: 90_000,
    traps: [
      'Enqueueing takes a fixed time, so a fast peer works off a deeper backlog than a slow one.',
      'beanstalkd has at most 64 connections here; more calls in flight are pipelined on them. Postgres peers have at most 64 connections; more calls wait in the client.',
      'A peer “in batches” gets 500 tasks in one call and completes in batches where it can. The other peers are called once per task.',
      'pg-boss is measured with a loop of fetch and complete: its own worker waits half a second or more between polls.',
      'pg-boss and graphile-worker accept completions without checking the owner. beanstalkd and BullMQ check it; no peer hands out a fencing number.',
      'The bare queue validates nothing, lets no lease expire and recovers nothing after a restart.',
    ],
  },
  {
    name: 'lock',
    kind: 'lock',
    title: 'Lock cycles on distinct names',
    says: 'Acquire and release, a new name each time.',
    widths: [1, 16, 64, 1_024],
    figures: [
      RATE,
      { figure: 'p50Ms', says: 'p50 ms', digits: 2 },
      { figure: 'p99Ms', says: 'p99 ms', digits: 2 },
      ...CPU,
    ],
    limitMs: 60_000,
    traps: [
      'redlock uses one Redis, not the majority of five it is designed for; with five it would cost five times the commands.',
      'Redis with `appendfsync always` syncs once per turn of its event loop for all commands in it, as leasehold does.',
      'The sketch checks nothing, renews nothing and never lets a lock expire: it shows what the wire and the disk allow.',
      'etcd: lease grant, transaction and lease revoke, three round trips. The `lock()` of its npm client is slower.',
    ],
  },
  {
    name: 'hot',
    kind: 'lock',
    title: 'One name that many want',
    says: 'All callers acquire and release the same name. A hand-over is one grant.',
    widths: [2, 64],
    figures: [
      { ...RATE, says: 'hand-overs/s' },
      { figure: 'p50Ms', says: 'wait p50 ms', digits: 1 },
      { figure: 'p99Ms', says: 'wait p99 ms', digits: 1 },
      { figure: 'turnsMin', says: 'fewest turns', digits: 0 },
      { figure: 'turnsMax', says: 'most turns', digits: 0 },
      ...CPU,
    ],
    limitMs: 60_000,
    traps: [
      'redlock, etcd and the Postgres row poll, every 1 to 5 ms here. The caller that has just released often wins again: that raises hand-overs and starves the others. Read p99 and the fewest turns beside the rate; a wait that has not ended when the time is up is in neither.',
      'A durable hand-over costs at least one sync and one round trip.',
    ],
  },
  {
    name: 'latency',
    kind: 'queue',
    title: 'From enqueue to the handler, 2 000 tasks/s offered',
    says: 'Tasks are offered evenly; a worker with a concurrency of 64 waits for them. Measured from the enqueue call to the start of the handler.',
    widths: [64],
    figures: [
      { figure: 'p50Ms', says: 'p50 ms', digits: 2 },
      { figure: 'p99Ms', says: 'p99 ms', digits: 2 },
      { figure: 'perSecond', says: 'handled/s', digits: 0 },
      ...CPU,
    ],
    chart: { figure: 'p50Ms', says: 'p50 ms, lower is better', digits: 2 },
    limitMs: 60_000,
    traps: [
      'A peer that handles fewer than 2 000 tasks a second builds up a backlog; its latency then says only that. Compare handled/s.',
      'Tasks are offered every millisecond, two at a time.',
      'Producer and worker share one process, so no clocks are compared.',
      'pg-boss runs its own worker with LISTEN/NOTIFY and polls every 0.5 s, its minimum. graphile-worker is woken by NOTIFY.',
    ],
  },
  {
    name: 'renewals',
    kind: 'lock',
    title: 'Renewals',
    says: 'Each caller holds one name and renews it over and over.',
    widths: [1_024],
    quickWidths: [64],
    figures: [
      RATE,
      { figure: 'p50Ms', says: 'p50 ms', digits: 2 },
      { figure: 'p99Ms', says: 'p99 ms', digits: 2 },
      ...CPU,
    ],
    limitMs: 60_000,
    traps: [
      'leasehold, Redis and Postgres write every renewal. etcd does not: after a restart it gives each lease its full time again.',
      'The Postgres row has at most 64 connections; more renewals wait in the client.',
    ],
  },
  {
    name: 'waiting',
    kind: 'queue',
    title: 'A million tasks waiting',
    says: 'Memory of the server per waiting task, bytes on disk, and the time from a start after `kill -9` to the first answer.',
    widths: [1_024],
    isLong: true,
    figures: [
      { figure: 'bytesPerTask', says: 'memory B/task', digits: 0 },
      { figure: 'diskBytesPerTask', says: 'disk B/task', digits: 0 },
      { figure: 'restartMs', says: 'restart ms', digits: 0 },
      { figure: 'afterRestart', says: 'tasks after', digits: 0 },
    ],
    chart: { figure: 'restartMs', says: 'restart in ms, lower is better', digits: 0 },
    limitMs: 400_000,
    traps: [
      'BullMQ, pg-boss and graphile-worker are filled in batches of 500, the others by one call per task.',
      '`kill -9` ends the process and not the machine: what was written and not synced survives it. Tasks that are there afterwards do not prove that they were durable.',
      'Memory is resident memory over that of the empty server. Postgres keeps tasks in its tables, so its memory says little and is left out.',
      'Redis replays its append-only file; a rewrite of the file before the kill would shorten the restart.',
    ],
  },
];

export const workOf = (name) => WORKS.find((work) => work.name === name);
