// Deliberate bugs, each a change of a line or two in the product, applied as the module is loaded. Each is found by the
// seed beside it; `npm test` replays just that one, with the bug and without. They are the proof that the simulator bites.
//
// To add one: write it with any seed, run `npm run sim -- --mutate NAME --seeds 500`, and write down what found it.
import { LIMIT_MUTANTS } from './limit-mutants.ts';
import { LIVE_MUTANTS } from './live-mutants.ts';
import type { Edit } from './runner/crew.ts';
import { SCHEDULE_MUTANTS } from './schedule-mutants.ts';
import { SESSION_MUTANTS } from './session-mutants.ts';

export interface Mutant {
  readonly name: string;
  /** What is wrong with the product then. */
  readonly does: string;
  readonly edits: readonly Edit[];
  /** The seed that finds it, and a checker that complains. */
  readonly seed: number;
  readonly checker: string;
}

/** Each edit is the file, what stands there, and what stands there instead. */
function mutant(
  name: string,
  does: string,
  found: { readonly seed: number; readonly by: string },
  ...edits: readonly (readonly [file: string, from: string, to: string])[]
): Mutant {
  return {
    name,
    does,
    edits: edits.map(([file, from, to]) => ({ file, from, to })),
    seed: found.seed,
    checker: found.by,
  };
}

const AUTHORITY = 'src/authority/authority.ts';
const DECIDE_NAMES = 'src/core/decide-names.ts';
const APPLY_NAMES = 'src/core/apply-names.ts';
const APPLY_TASKS = 'src/core/apply-tasks.ts';
const EXPIRY = 'src/core/expiry.ts';
const WAIT_LINES = 'src/core/wait-lines.ts';
const MACHINE = 'src/core/machine.ts';
const VERDICTS = 'src/core/verdicts.ts';
const GUARD_WATCH = 'src/engines/postgres/guard-watch.ts';
const RESTORED_SEQ = 'src/engines/restored-seq.ts';

export const MUTANTS: readonly Mutant[] = [
  mutant(
    'reply-before-sync',
    'Answers leave while the batch is still on its way to the disk.',
    { seed: 18, by: 'durable' },
    [
      AUTHORITY,
      'this.log.append(this.mayWriteDirectly()).then(this.appended, this.appendFailed);',
      'this.deliver(); this.log.append(this.mayWriteDirectly()).then(() => { this.busy = false; this.schedule(); }, this.appendFailed);',
    ],
  ),
  mutant(
    'failed-append-acknowledged',
    'An append that failed is answered like one that did not.',
    { seed: 18, by: 'durable' },
    [AUTHORITY, '.then(this.appended, this.appendFailed)', '.then(this.appended, this.appended)'],
  ),
  mutant(
    'read-before-durable',
    'A read that comes while a batch is being written sees what is in that batch.',
    { seed: 168, by: 'durable' },
    [
      AUTHORITY,
      'const request = new Request(null, read, null, PLAIN);',
      'if (this.busy) return Promise.resolve(read(this.machine)); const request = new Request(null, read, null, PLAIN);',
    ],
  ),
  mutant(
    'write-without-sync',
    'Segments are opened without asking for durable writes.',
    { seed: 47, by: 'replays' },
    [
      'src/engines/file/preallocation.ts',
      'return this.#files.open(path, { durable: true });',
      'return this.#files.open(path, {});',
    ],
  ),
  mutant(
    'torn-tail-kept',
    'A torn write at the end of the log is taken for an entry.',
    { seed: 19, by: 'no-bugs' },
    ['src/engines/file/frame-scan.ts', 'return isWhole(this.buffer, head) ? head : null;', 'return head;'],
  ),
  mutant('epoch-unchecked', 'A writer that was deposed goes on appending.', { seed: 85, by: 'durable' }, [
    'src/engines/memory/memory-log.ts',
    "if (this.#disk.writer !== this.#writer) throw new LogClosedError('A newer writer has opened the log.');",
    '',
  ]),
  mutant(
    'restore-goes-on',
    'A restored log goes on where its backup ended.',
    { seed: 236, by: 'numbers-grow' },
    [RESTORED_SEQ, 'if (seq <= SEQ_MAX) return seq;', 'return lastSeq + 1;'],
  ),
  mutant(
    'restore-forgets-the-time',
    'A restored log jumps ahead of its backup only, and not of what was restored before.',
    { seed: 480, by: 'numbers-grow' },
    [RESTORED_SEQ, 'aboveSeq + RESTORE_JUMP, byTime)', 'aboveSeq + RESTORE_JUMP)'],
  ),
  mutant(
    'restore-does-not-listen',
    'A restored log does not begin above the number that the operator names.',
    { seed: 17, by: 'numbers-grow' },
    [RESTORED_SEQ, 'aboveSeq + RESTORE_JUMP, byTime)', 'byTime)'],
  ),
  mutant(
    'clock-goes-back',
    'After a restart time is what the wall clock says, also when the log is ahead of it.',
    { seed: 4, by: 'no-bugs' },
    ['src/authority/authority-clock.ts', 'Math.max(clock.wallMs(), newestInLogMs)', 'clock.wallMs()'],
    [MACHINE, 'Math.max(nowMs, this.nowMs, this.state.lastAtMs)', 'Math.max(nowMs, this.nowMs)'],
  ),
  mutant(
    'valid-at-its-end',
    'A lease still counts in the very millisecond in which it ends.',
    { seed: 561, by: 'linearisable' },
    [
      EXPIRY,
      'if (Math.min(taskMs, nameMs) > nowMs) return;',
      'if (Math.min(taskMs, nameMs) >= nowMs) return;',
    ],
    [EXPIRY, 'names.expiring.topKey());\n}', 'names.expiring.topKey()) + 1;\n}'],
    [
      EXPIRY,
      'names.expiresAtMs.get(row) <= nowMs) expireName',
      'names.expiresAtMs.get(row) < nowMs) expireName',
    ],
    [EXPIRY, 'tasks.lease.get(row)) <= nowMs) expireTask', 'tasks.lease.get(row)) < nowMs) expireTask'],
    [
      APPLY_NAMES,
      "check(atMs < state.names.expiresAtMs.get(row), entry, seq, 'the lease has run out');",
      "check(atMs <= state.names.expiresAtMs.get(row), entry, seq, 'the lease has run out');",
    ],
    [
      APPLY_TASKS,
      "check(atMs < tasks.leases.expiresAtMs.get(tasks.lease.get(row)), entry, seq, 'the lease has run out');",
      "check(atMs <= tasks.leases.expiresAtMs.get(tasks.lease.get(row)), entry, seq, 'the lease has run out');",
    ],
  ),
  mutant(
    'expiry-not-written',
    'A named lease that ran out ends in memory only.',
    { seed: 1, by: 'one-holder' },
    [
      EXPIRY,
      "commit({ type: 'NameExpired', name: names.nameOf(row), leaseSeq: names.leaseSeq.get(row) }, expiresAtMs);",
      "if (expiresAtMs > 0 && commit) { names.end(row, 'expired'); if (names.isIdle(row)) names.becomeIdle(row); }",
    ],
  ),
  mutant(
    'wipe-forgets-fence',
    'A wipe takes the fences of what it ends along.',
    { seed: 44, by: 'linearisable' },
    [
      APPLY_NAMES,
      "for (const row of rows) endName(state, row, seq, atMs, 'wiped');",
      "for (const row of rows) { endName(state, row, seq, atMs, 'wiped'); state.names.leaseSeq.set(row, 0); }",
    ],
  ),
  mutant('renew-resurrects', 'Renewing a lease that ran out brings it back.', { seed: 1, by: 'asked-for' }, [
    DECIDE_NAMES,
    "if (!names.isLive(row)) return refuse(names.endOf(row) === 'expired' ? 'LEASE_EXPIRED' : 'LEASE_NOT_HELD');",
    "if (!names.isLive(row)) return grant(state, { ...command, type: 'AcquireNames', names: [command.name], waitMs: 0, metadata: null, isAdmin: true }, nowMs);",
  ]),
  mutant('token-unchecked', 'The holder is enough, whatever the token.', { seed: 1, by: 'linearisable' }, [
    DECIDE_NAMES,
    'return names.tokens.matches(row, proof.tokenHash) && names.heldBy',
    'return names.heldBy',
  ]),
  mutant('release-without-token', 'Any caller may give a lease back.', { seed: 1, by: 'linearisable' }, [
    DECIDE_NAMES,
    '!names.isLive(row) || !isNewestGrant(state, row, command)) {\n    return unchanged({ released: false',
    '!names.isLive(row)) {\n    return unchanged({ released: false',
  ]),
  mutant('guard-unchecked', 'A caller that names the guard may wipe.', { seed: 1, by: 'one-holder' }, [
    DECIDE_NAMES,
    "if (!holdsGuard(state, command.guard)) return refuse('GUARD_NOT_HELD');",
    "if (!holdsGuard(state, command.guard) && command.guard.name === '') return refuse('GUARD_NOT_HELD');",
  ]),
  mutant(
    'twin-shares-number',
    'The same holder with another token is given the grant that is there.',
    { seed: 29, by: 'linearisable' },
    [
      DECIDE_NAMES,
      'if (names.tokens.matches(row, tokenHash)) {',
      'if (isOwn || names.tokens.matches(row, tokenHash)) {',
    ],
  ),
  mutant(
    'some-instead-of-none',
    'Of several names those that are free are granted, although one is not.',
    { seed: 1, by: 'durable' },
    [
      DECIDE_NAMES,
      'if (inTheWay !== 0) return { entries: [], answer: held(state, inTheWay, nowMs, command) };',
      `if (inTheWay !== 0) {
    const free = command.names.filter((name) => names.find(name) === 0 || !names.isLive(names.find(name)));
    if (free.length === 0) return { entries: [], answer: held(state, inTheWay, nowMs, command) };
    return grant(state, { ...command, names: free }, nowMs);
  }`,
    ],
  ),
  mutant(
    'waiter-after-deadline',
    'A wait that has run out is still served if the name comes free in time.',
    { seed: 30, by: 'line-order' },
    [MACHINE, '    this.lines.endWaits();\n    expireDue(', '    expireDue('],
    [
      MACHINE,
      'callsBefore, this.commit);\n    this.lines.serve();',
      'callsBefore, this.commit);\n    this.lines.serve();\n    this.lines.endWaits();',
    ],
    [
      WAIT_LINES,
      'if (!waiter.ticket.open || waiter.deadlineMs <= this.nowMs) {\n        this.giveUpNames(waiter);',
      'if (!waiter.ticket.open) {\n        this.giveUpNames(waiter);',
    ],
  ),
  mutant(
    'last-come-first-served',
    'A caller that joins a line goes to its head.',
    { seed: 1, by: 'line-order' },
    [
      'src/core/lines.ts',
      `    place.before = line.last;
    if (line.last === null) line.first = place;
    else line.last.after = place;
    line.last = place;`,
      `    place.after = line.first;
    if (line.first === null) line.last = place;
    else line.first.before = place;
    line.first = place;`,
    ],
  ),
  mutant('line-passed', 'Who does not wait is served before those who do.', { seed: 1, by: 'line-order' }, [
    WAIT_LINES,
    'if (this.names.size === 0) return null;',
    'if (this.names.size >= 0) return null;',
  ]),
  mutant(
    'extend-shortens',
    'Extending the lease of a task by less than it has takes some of it away.',
    { seed: 5, by: 'one-holder' },
    [VERDICTS, 'Math.max(oldMs, nowMs + command.ttlMs)', 'nowMs + command.ttlMs'],
    [VERDICTS, 'const grows = expiresAtMs > oldMs;', 'const grows = expiresAtMs !== oldMs;'],
    [APPLY_TASKS, "check(isLonger, entry, seq, 'an extension never shortens');", 'void isLonger;'],
  ),
  mutant(
    'late-verdict-counts',
    'A task is completed by a lease that has been taken from its holder.',
    { seed: 5, by: 'linearisable' },
    [
      VERDICTS,
      'if (end === verb) return unchanged(firstAnswer(at, verb));',
      "if (end === verb || end === 'expired') return unchanged(firstAnswer(at, verb));",
    ],
  ),
  mutant(
    'attempts-unlimited',
    'A task is handed out again however often it was before.',
    { seed: 8, by: 'task-rules' },
    [
      VERDICTS,
      'return tasks.countedAttempts.get(row) >= tasks.maxAttempts.get(row);',
      'return tasks.countedAttempts.get(row) < 0 && tasks.maxAttempts.get(row) < 0;',
    ],
  ),
  mutant(
    'death-untold',
    'The failure that uses up the attempts of a task says that the task waits again.',
    { seed: 12, by: 'task-rules' },
    [VERDICTS, "death !== null ? 'DEAD' : 'WAITING';", "'WAITING';"],
  ),
  mutant(
    'dedup-after-end',
    'The deduplication key of a task that has ended still stands for it.',
    { seed: 5, by: 'task-rules' },
    [
      'src/core/task-table.ts',
      'if (dedupKey !== null) this.byDedup.remove(this.dedupHash(queue.name',
      "if (dedupKey === '') this.byDedup.remove(this.dedupHash(queue.name",
    ],
  ),
  mutant(
    'cancelled-leased-again',
    'A task whose cancellation was asked for goes back to its queue when its lease ends.',
    { seed: 90_006, by: 'linearisable' },
    [
      'src/core/operate-tasks.ts',
      'return detail === null ? null : cancelled(',
      "return detail !== '' ? null : cancelled(",
    ],
    [APPLY_TASKS, "check(tasks.cancelReason.get(row) === null, entry, seq, 'the task is cancelled');", ''],
  ),
  mutant(
    'second-successor',
    'A task that was requeued is requeued again, as another new task.',
    { seed: 100_006, by: 'task-rules' },
    [
      'src/core/decide-tasks.ts',
      'const known = tasks.requeuedAs.get(row);',
      "const known = row < 0 ? '' : null;",
    ],
    ['src/authority/reads.ts', ' || tasks.requeuedAs.get(row) !== null) return null;', ') return null;'],
    [
      APPLY_TASKS,
      "check(tasks.requeuedAs.get(origin) === null, entry, seq, 'its origin has a successor');",
      '',
    ],
  ),
  mutant(
    'failed-evicted',
    'Failed tasks are kept with the completed ones, by their time and their number.',
    { seed: 100_001, by: 'retention' },
    [
      'src/core/task-table.ts',
      'this.reason.equals(row, CANCELLED) ? this.completed : this.failed;',
      'this.reason.equals(row, CANCELLED) ? this.completed : this.completed;',
    ],
  ),
  mutant(
    'bulk-beyond-its-position',
    'A bulk run also acts on tasks that were created after its first call.',
    { seed: 100_001, by: 'bulk' },
    [
      'src/authority/bulk-reads.ts',
      'if (tasks.createdSeq.get(row) > untilSeq) return;',
      'if (tasks.createdSeq.get(row) > untilSeq + 1e9) return;',
    ],
  ),
  mutant(
    'deadline-after-answer',
    'The client counts its deadline from when the answer came.',
    { seed: 111, by: 'aborts' },
    [
      'src/client/lease-renewal.ts',
      'grant.deadline = new Deadline(sent, remainingMs);',
      'grant.deadline = new Deadline(momentOf(this.#world.clock), remainingMs);',
    ],
    [
      'src/client/named-leases.ts',
      'const grant = this.#grantOf(terms, leaseSeq, new Deadline(sent, remainingMs));',
      'const grant = this.#grantOf(terms, leaseSeq, new Deadline(momentOf(this.#world.clock), remainingMs));',
    ],
  ),
  mutant(
    'deadline-by-one-clock',
    'The client trusts its monotonic clock alone, which stands still while the machine sleeps.',
    { seed: 347, by: 'aborts' },
    [
      'src/seams/deadline.ts',
      'return Math.min(this.monotonicMs - clock.monotonicMs(), this.wallMs - clock.wallMs());',
      'return this.monotonicMs - clock.monotonicMs();',
    ],
  ),
  mutant(
    'lost-lease-held',
    'A handle says that its lease is held although a renewal was refused.',
    { seed: 1, by: 'lost-guards' },
    [
      'src/client/lease-renewal.ts',
      'if (grant.ended !== null) return false;\n    if (grant.refusal',
      'if (grant.ended !== null) return true;\n    if (grant.refusal',
    ],
  ),
  mutant(
    'guard-by-database-clock',
    'A standby takes a guard when the clock of the database says that it has run out.',
    { seed: 40_051, by: 'one-leader' },
    [
      GUARD_WATCH,
      'return this.#sinceMs + ttlMs + guardMarginMs(ttlMs) - this.#clock.monotonicMs();',
      'return held.terms!.renewedAtMs + ttlMs - this.#seen!.databaseMs;',
    ],
  ),
  mutant(
    'take-over-by-database-clock',
    'A standby that takes over starts with the clock of the database, however warm it is.',
    { seed: 40_108, by: 'real-time' },
    [GUARD_WATCH, 'const knownMs = this.#time?.nowMs() ?? null;', 'const knownMs = null as number | null;'],
  ),
  mutant(
    'sleep-unnoticed',
    'A leader whose machine was suspended goes on with a clock that stood still.',
    { seed: 140_285, by: 'real-time' },
    [
      'src/engines/postgres/sleep-watch.ts',
      'if (sleptMs - this.#sleptMs < SLEEP_MS_MIN) return false;',
      'if (sleptMs - this.#sleptMs < Number.POSITIVE_INFINITY) return false;',
    ],
  ),
  ...SESSION_MUTANTS,
  ...LIMIT_MUTANTS,
  ...LIVE_MUTANTS,
  ...SCHEDULE_MUTANTS,
];
