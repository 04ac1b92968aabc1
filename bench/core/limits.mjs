/**
 * Lifecycles (complete, create, lease) of the machine alone, without a log: a queue without keys, one with 100 000 keys,
 * and one whose 100 000 keys are all at their limit of one. They are measured in turn, in CPU time of this thread, because
 * the machine drifts more between two minutes than the figures differ.
 */
import { Machine } from '../../dist/core/machine.js';
import { DEFAULT_RETENTION } from '../../dist/core/retention.js';
import { createState } from '../../dist/core/state.js';
import { row, scaled } from './bench-world.mjs';

const KEYS = scaled(100_000);
const ROUND = scaled(100_000);
const ROUNDS = 5;
const TICKET = { open: true, waits: () => undefined };

class Stage {
  #machine = new Machine(createState(1), { ...DEFAULT_RETENTION, completedTasksMax: 2 * KEYS });
  #nowMs = 1_000_000_000_000;
  #made = 0;
  #held = [];
  #keyOf;

  constructor(hasKeys, isLimited) {
    this.#keyOf = (number) => (hasKeys ? `customer-${number % KEYS}` : null);
    if (isLimited)
      this.#batch({ type: 'LimitQueue', queue: 'q', limits: { maxLeasedPerKey: 1 }, applies: false });
    for (let count = 0; count < 2 * KEYS; count++) this.#batch(this.#create());
    for (let count = 0; count < KEYS; count += 1_000)
      this.#held.push(...this.#batch(this.#lease(1_000)).leases);
    if (this.#held.length !== KEYS) throw new Error(`${this.#held.length} of ${KEYS} are leased.`);
  }

  /** Lifecycles in a second of CPU time. */
  run() {
    const from = process.cpuUsage();
    for (let turn = 0; turn < ROUND; turn++) {
      const place = turn % KEYS;
      const { taskId, leaseSeq } = this.#held[place];
      const done = { type: 'CompleteTask', taskId, leaseSeq, result: null, writes: [] };
      const { leases } = this.#batch(done, this.#create(), this.#lease(1));
      if (leases.length !== 1) throw new Error('No task could be leased.');
      this.#held[place] = leases[0];
    }
    const { user, system } = process.cpuUsage(from);
    return (ROUND * 1e6) / (user + system);
  }

  #create() {
    return {
      type: 'CreateTask',
      taskId: null,
      queue: 'q',
      priority: 0,
      delayMs: 0,
      maxFailures: 5,
      backoffMs: 1_000,
      maxBackoffMs: 300_000,
      maxAttempts: 100,
      dedupKey: null,
      groupKey: this.#keyOf(this.#made++),
      trace: null,
      payload: { bytes: null, at: 0, length: 10, crc: 1 },
    };
  }

  #lease(max) {
    const ttlMs = 3_600_000;
    return { type: 'LeaseTasks', workerId: 'w', queues: ['q'], max, ttlMs, waitMs: 0, requestId: null };
  }

  /** The answer to the last command. */
  #batch(...commands) {
    this.#machine.batch.begin(1);
    this.#machine.begin(++this.#nowMs, commands.length);
    let answer = null;
    for (const command of commands) answer = this.#machine.run(command, TICKET);
    this.#machine.end();
    return answer;
  }
}

const stages = [
  ['no keys, no limits', new Stage(false, false)],
  [`${KEYS.toLocaleString('en')} keys, no limits`, new Stage(true, false)],
  [`${KEYS.toLocaleString('en')} keys, all at their limit`, new Stage(true, true)],
];
for (const [, stage] of stages) stage.run();
const rates = stages.map(() => []);
for (let round = 0; round < ROUNDS; round++)
  for (const [index, [, stage]] of stages.entries()) rates[index].push(stage.run());
row('queue', 'lifecycles/s', 'of the first');
const medians = rates.map((list) => list.sort((a, b) => a - b)[ROUNDS >> 1]);
for (const [index, [name]] of stages.entries())
  row(
    name,
    Math.round(medians[index]).toLocaleString('en'),
    `${Math.round((100 * medians[index]) / medians[0])} %`,
  );
