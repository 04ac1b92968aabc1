// A worker at its work: what its handlers are given, and what becomes of what they return and throw.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { Json } from '../protocol/json.ts';
import { type AnyTask, defineTask } from './define-task.ts';
import type { EnqueueReceipt } from './enqueue.ts';
import type { Leasehold } from './leasehold.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { TaskContext } from './task-context.ts';
import { HandBack, NoRetry, RetryLater } from './task-errors.ts';
import type { TaskVerdict } from './task-verdict.ts';
import type { Worker } from './worker.ts';
import { job, type LostTask, type TaskHandler, type WorkerOptions } from './worker-options.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;
/** Another client of the same authority. */
let other: Leasehold;
let verdicts: TaskVerdict[];

const mail = defineTask('mail');

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh, wire } = stage.client());
  other = stage.client().lh;
  verdicts = [];
});

function add(input: unknown, task: AnyTask = mail): Promise<EnqueueReceipt<unknown>> {
  return world.finish(other.enqueue(task, input));
}

/** A worker on `mail` that notes its verdicts, and whatever it does without any time passing. */
async function start(handler: TaskHandler<unknown, unknown>, options: WorkerOptions = {}): Promise<Worker> {
  const worker = lh.work(mail, { onVerdict: (verdict) => verdicts.push(verdict), ...options }, handler);
  await world.settle();
  return worker;
}

async function taskOf({ taskId }: { readonly taskId: string }) {
  const task = await world.finish(other.call('task.get', { task_id: taskId }));
  if (!task.ok) throw new Error(task.detail);
  return task;
}

describe('a handler', () => {
  it('is given the input, who and what it works for, and its fencing number', async () => {
    const { taskId } = await add({ to: 'ada' });
    const seen: TaskContext<unknown>[] = [];
    await start((task) => {
      seen.push(task);
      task.assertHeld();
      expect(task.remaining()).toBeGreaterThan(20_000);
    });
    expect(seen).toHaveLength(1);
    const { input, attempt, queue, leaseSeq, signal, remaining, assertHeld } = seen[0]!;
    expect({ input, attempt, queue, taskId: seen[0]!.taskId }).toEqual({
      input: { to: 'ada' },
      attempt: 1,
      queue: 'mail',
      taskId,
    });
    expect(leaseSeq).toBeGreaterThan(0);
    expect(signal.aborted).toBe(false);
    // What it has left behind must not take the lease of the next attempt for its own.
    expect(remaining()).toBe(0);
    expect(assertHeld).toThrow(
      expect.objectContaining({
        code: 'LEASE_LOST',
        message: expect.stringContaining('the task has already ended for this handler'),
      }),
    );
  });

  it('completes the task with what it returns, at once or later', async () => {
    const now = await add('now');
    const late = await add('later');
    await start(async ({ input }) => (input === 'now' ? { at: 'once' } : Promise.resolve({ at: 'last' })));
    expect(await world.finish(now.result())).toEqual({ state: 'COMPLETED', output: { at: 'once' } });
    expect(await world.finish(late.result())).toEqual({ state: 'COMPLETED', output: { at: 'last' } });
  });

  it('may return nothing, and then there is no result', async () => {
    const receipt = await add(1);
    await start(() => undefined);
    expect(await world.finish(receipt.result())).toEqual({ state: 'COMPLETED', output: undefined });
    expect(await taskOf(receipt)).not.toHaveProperty('result');
  });

  it('may return a Json, which is kept byte for byte', async () => {
    const receipt = await add(1);
    await start(() => Json.text('{"n": 1.0}'));
    expect((await taskOf(receipt)).result!.text()).toBe('{"n": 1.0}');
  });

  it('runs as often at once as the concurrency says, and no more', async () => {
    for (let index = 0; index < 5; index++) await add(index);
    const running: (() => void)[] = [];
    const worker = await start(() => new Promise<void>((resolve) => running.push(resolve)), {
      concurrency: 3,
    });
    expect(running).toHaveLength(3);
    expect(worker.counts).toMatchObject({ leased: 3, running: 3 });
    running[0]!();
    await world.settle();
    expect(running).toHaveLength(4);
    for (const finish of running) finish();
    await world.settle();
    expect(running).toHaveLength(5);
  });

  it('waits for tasks for ever, poll after poll', async () => {
    const seen: unknown[] = [];
    await start(({ input }) => void seen.push(input), { wait: '30s' });
    await world.advance(95_000);
    expect(wire.count('task.lease')).toBe(4);
    await add('at last');
    await world.settle();
    expect(seen).toEqual(['at last']);
  });
});

describe('a handler that throws', () => {
  it('fails the task with its message, and the task is tried again after its backoff', async () => {
    const receipt = await add(1);
    let attempts = 0;
    await start(() => {
      attempts += 1;
      if (attempts === 1) throw new Error('the printer burns');
      return 'done';
    });
    expect(verdicts).toMatchObject([
      { outcome: 'COMMITTED', verb: 'fail', state: 'WAITING', error: { message: 'the printer burns' } },
    ]);
    await world.advance(999);
    expect(attempts).toBe(1);
    await world.advance(1);
    expect(await world.finish(receipt.result())).toEqual({ state: 'COMPLETED', output: 'done' });
  });

  it('fails the task for good when that was the last failure it may have', async () => {
    const once = defineTask('once', { retry: { maxFailures: 1 } });
    const receipt = await add(1, once);
    lh.work(once, {}, () => Promise.reject(new Error('no paper')));
    await world.settle();
    expect(await world.finish(receipt.result())).toEqual({ state: 'FAILED', reason: 'no paper' });
  });

  it('fails it for good with NoRetry', async () => {
    const receipt = await add(1);
    const worker = await start(() => {
      throw new NoRetry('no such address');
    });
    expect(await world.finish(receipt.result())).toEqual({ state: 'FAILED', reason: 'no such address' });
    expect(worker.counts).toMatchObject({ failed: 1, completed: 0 });
  });

  it('says with RetryLater when it is tried again, and that counts as a failure', async () => {
    const receipt = await add(1);
    const attempts: number[] = [];
    await start(({ attempt }) => {
      attempts.push(attempt);
      if (attempt === 1) throw new RetryLater('busy', { delay: '5m' });
    });
    await world.advance(299_999);
    expect(attempts).toEqual([1]);
    await world.advance(1);
    expect(attempts).toEqual([1, 2]);
    expect(await taskOf(receipt)).toMatchObject({ state: 'COMPLETED', failures: 1 });
  });

  it.each([RetryLater, HandBack])(
    'fails with a sentence when %o is to rest for longer than a task may',
    async (Later) => {
      const receipt = await add(1);
      await start(() => {
        throw new Later('much later', { delay: '400d' });
      });
      expect(await taskOf(receipt)).toMatchObject({
        state: 'WAITING',
        failures: 1,
        reason: `The delay of ${Later.name} may be 366 days at most.`,
      });
    },
  );

  it('hands the task back with HandBack, and that counts as nothing', async () => {
    const receipt = await add(1);
    const worker = await start(({ attempt }) => {
      if (attempt === 1) throw new HandBack('not here', { delay: '1m' });
    });
    expect(worker.counts).toMatchObject({ released: 1, failed: 0 });
    await world.advance(60_000);
    expect(await taskOf(receipt)).toMatchObject({ state: 'COMPLETED', failures: 0 });
  });

  it('rests for a second when it is handed back without a delay, because nothing counts how often', async () => {
    await add(1);
    const attempts: number[] = [];
    await start(({ attempt }) => {
      attempts.push(attempt);
      throw new HandBack();
    });
    await world.advance(999);
    expect(attempts).toEqual([1]);
    await world.advance(1);
    expect(attempts).toEqual([1, 2]);
  });

  it.each([
    ['an empty message', new Error(''), 'Error'],
    ['text', 'just text', 'just text'],
    ['nothing', undefined, 'undefined'],
    ['an object without a form', Object.create(null), 'The handler failed without a message.'],
    ['half a character', new Error('\ud800 half'), '\ufffd half'],
  ])('gives a reason even with %s', async (_what, thrown, reason) => {
    const once = defineTask('once', { retry: { maxFailures: 1 } });
    const receipt = await add(1, once);
    lh.work(once, {}, () => Promise.reject(thrown));
    await world.settle();
    expect(await world.finish(receipt.result())).toEqual({ state: 'FAILED', reason });
  });

  it.each(['', 'x', 'xx'])(
    'has a reason cut to what the authority takes, at a whole character',
    async (prefix) => {
      const receipt = await add(1);
      await start(() => {
        throw new NoRetry(`${prefix}${'€'.repeat(5_000)}`);
      });
      const { reason = '' } = await taskOf(receipt);
      expect(new TextEncoder().encode(reason).length).toBeLessThanOrEqual(4_096);
      expect(reason).toMatch(/^x*€{1360,}…$/);
    },
  );
});

/** A schema that takes whole numbers as text and gives them out as numbers; slowly, if asked to. */
function digits(isSlow = false): StandardSchema<string, number> {
  const validate = (value: unknown) =>
    typeof value === 'string' && /^\d+$/.test(value)
      ? { value: Number(value) }
      : { issues: [{ message: 'is no number', path: ['amount', { key: 0 }] }] };
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: isSlow ? async (value) => validate(value) : validate,
    },
  };
}

describe('the schemas of a task', () => {
  it.each([
    ['at once', false],
    ['later', true],
  ])('give the handler its input and the receipt its output, %s', async (_when, isSlow) => {
    const count = defineTask('count', { input: digits(isSlow), output: digits(isSlow) });
    const receipt = await world.finish(other.enqueue(count, '41'));
    lh.work(count, {}, ({ input }) => String(input + 1));
    await world.settle();
    expect(await world.finish(receipt.result())).toEqual({ state: 'COMPLETED', output: 42 });
    const task = await taskOf(receipt);
    expect([task.payload!.text(), task.result!.text()]).toEqual(['"41"', '"42"']);
  });

  it('fail the task whose input does not fit, without calling the handler', async () => {
    const count = defineTask('count', { input: digits() });
    await world.finish(other.call('task.create', { payload: 'many', queue: 'count', task_id: 'foreign' }));
    lh.work(count, { onVerdict: (verdict) => verdicts.push(verdict) }, () => expect.unreachable());
    await world.settle();
    expect(verdicts).toMatchObject([{ verb: 'fail', state: 'WAITING', error: { code: 'INVALID_TASK' } }]);
    expect((await world.finish(history('foreign'))).at(-1)).toMatchObject({
      type: 'TaskFailed',
      reason: 'The input of task foreign does not fit its schema: amount.0: is no number',
    });
  });

  it('fail the task whose output does not fit', async () => {
    const count = defineTask('count', { output: digits() });
    const receipt = await add(1, count);
    lh.work(count, { onVerdict: (verdict) => verdicts.push(verdict) }, () => 'many');
    await world.settle();
    expect(verdicts).toMatchObject([{ verb: 'fail', error: { code: 'INVALID_TASK' } }]);
    expect(await taskOf(receipt)).toMatchObject({ state: 'WAITING', failures: 1 });
  });

  it('fail the task whose output has no JSON form', async () => {
    await add(1);
    await start(() => 10n);
    expect(verdicts).toMatchObject([{ verb: 'fail', error: { code: 'INVALID_TASK' } }]);
  });
});

async function history(taskId: string): Promise<readonly Record<string, unknown>[]> {
  const reply = await other.call('task.history', { task_id: taskId });
  if (!reply.ok) throw new Error(reply.detail);
  return reply.entries;
}

describe('fenced writes of a handler', () => {
  it('happen with the completion, in the same entry', async () => {
    const lease = await world.finish(other.acquire('report', { ttl: '1m' }));
    const receipt = await add(1);
    await start(({ write }) => {
      write('report', { lines: 3 }, lease);
      return 'written';
    });
    expect(await taskOf(receipt)).toMatchObject({ state: 'COMPLETED' });
    const object = await world.finish(other.call('object.get', { object_id: 'report' }));
    expect(object).toMatchObject({ ok: true, version: 1, lease_seq: lease.leaseSeq });
    expect(await stage.entries()).not.toContain('ObjectWritten');
  });

  const WAYS: Readonly<Record<string, TaskHandler<unknown, unknown>>> = {
    'await using': async ({ write }) => {
      await using lease = await lh.acquire('report');
      write(lease.name, 1, lease);
    },
    'a release in finally': async ({ write }) => {
      const lease = await lh.acquire('report');
      try {
        write(lease.name, 1, lease);
      } finally {
        expect(await lease.release()).toBe(true);
      }
    },
    withLease: ({ write }) => lh.withLease('report', (lease) => write(lease.name, 1, lease)),
    acquireAll: async ({ write }) => {
      await using leases = await lh.acquireAll(['report', 'other']);
      write('report', 1, leases);
      write('other', 1, leases);
    },
  };

  it.each(Object.entries(WAYS))(
    'happen under a lease that the handler gives back itself: %s',
    async (_, way) => {
      const receipt = await add(1);
      await start(way);
      await world.finish(receipt.output());
      expect(await world.finish(other.objects.get('report'))).toMatchObject({ version: 1 });
      expect(await world.finish(other.leases.get('report'))).toBeNull();
    },
  );

  it('keep the lease that the handler gave back, renewed, until the completion is answered', async () => {
    const receipt = await add(1);
    wire.let('task.complete', 'fails');
    await start(WAYS['await using']!, { ttl: '5m' });
    await world.advance(60_000);
    expect(await world.finish(other.tryAcquire('report'))).toBeNull();
    wire.mend();
    await world.advance(5_000);
    expect(await world.finish(receipt.result())).toMatchObject({ state: 'COMPLETED' });
    expect(await world.finish(other.tryAcquire('report'))).not.toBeNull();
  });

  it('give the lease back when the handler fails after all', async () => {
    await add(1);
    await start(async ({ write }) => {
      await using lease = await lh.acquire('report');
      write(lease.name, 1, lease);
      throw new Error('no paper');
    });
    expect(verdicts).toMatchObject([{ verb: 'fail', outcome: 'COMMITTED' }]);
    expect(await world.finish(other.tryAcquire('report'))).not.toBeNull();
  });

  it('leave a lease alone that the handler does not give back', async () => {
    const lease = await world.finish(lh.acquire('report'));
    await add(1);
    await start(({ write }) => write('report', 1, lease));
    expect(verdicts).toMatchObject([{ verb: 'complete', outcome: 'COMMITTED' }]);
    lease.assertHeld();
  });

  it('cannot be made under the lease of the task', async () => {
    await add(1);
    await start((task) => task.write('thumb/own', 1, task as never));
    expect(verdicts).toMatchObject([
      { verb: 'fail', error: { message: expect.stringContaining('lh.acquire("thumb/own")') } },
    ]);
  });

  it('take the numbers of a lease alone too', async () => {
    const lease = await world.finish(
      other.call('lease.acquire', { name: 'report', holder: 'me', ttl_ms: 60_000 }),
    );
    if (!lease.ok) throw new Error(lease.detail);
    await add(1);
    await start(({ write }) => write('report', 1, { leaseSeq: lease.lease_seq, holder: lease.holder }));
    expect(await world.finish(other.call('object.get', { object_id: 'report' }))).toMatchObject({
      version: 1,
    });
  });

  it('fail the task when one of them is refused, and nothing is written', async () => {
    const lease = await world.finish(other.acquire('report', { ttl: '1m' }));
    const receipt = await add(1);
    await start(({ write }) => {
      write('report', 1, lease);
      write('other', 1, lease);
    });
    expect(verdicts).toMatchObject([
      { outcome: 'COMMITTED', verb: 'fail', state: 'WAITING', error: { code: 'LEASE_OBJECT_MISMATCH' } },
    ]);
    const { message } = (verdicts[0] as { readonly error: Error }).error;
    expect(message).toMatch(/^The write of "other" was refused: .* lh\.acquire\("other"\)\.$/);
    expect(await taskOf(receipt)).toMatchObject({ state: 'WAITING', failures: 1 });
    expect(await world.finish(other.call('object.get', { object_id: 'report' }))).toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    });
  });

  it('cannot be added once the handler is done', async () => {
    await add(1);
    let write: TaskContext<unknown>['write'] | undefined;
    await start((task) => {
      write = task.write;
    });
    expect(() => write!('report', 1, { leaseSeq: 1 })).toThrow(TypeError);
  });
});

describe('verdicts', () => {
  it('are values: COMMITTED with what the task became', async () => {
    const { taskId } = await add(1);
    const worker = await start(() => 1);
    expect(verdicts).toMatchObject([
      { outcome: 'COMMITTED', verb: 'complete', state: 'COMPLETED', taskId, queue: 'mail', attempt: 1 },
    ]);
    expect(worker.counts).toMatchObject({ leased: 1, running: 0, completed: 1 });
  });

  it('are LATE for a result that comes too late, and the late result is kept', async () => {
    const receipt = await add(1);
    let finish = (_value: string): void => undefined;
    const worker = await start(() => new Promise((resolve) => (finish = resolve)), {
      ttl: '10s',
      wait: '1s',
    });
    wire.let('worker.heartbeat', 'fails');
    await world.advance(10_000);
    finish('too late');
    await world.settle();
    expect(verdicts).toMatchObject([{ outcome: 'LATE', verb: 'complete', loss: 'expired' }]);
    expect(worker.counts).toMatchObject({ late: 1, completed: 0 });
    const { leases } = await taskOf(receipt);
    expect(leases.map(({ late_result }) => late_result?.parse())).toContain('too late');
  });

  it('are REJECTED when the lease was ended by another word already', async () => {
    const { taskId } = await add(1);
    const worker = await start(async () => {
      // Another process uses the id of the worker.
      const task = await other.call('task.get', { task_id: taskId });
      if (!task.ok) throw new Error(task.detail);
      await other.call('task.release', {
        task_id: taskId,
        lease_id: task.current_lease_id!,
        delay_ms: 60_000,
      });
    });
    expect(verdicts).toMatchObject([{ outcome: 'REJECTED', verb: 'complete', code: 'LEASE_NOT_CURRENT' }]);
    expect(worker.counts).toMatchObject({ rejected: 1 });
  });

  it('that throw in the hands of the caller stop the worker, and done says so', async () => {
    await add(1);
    const worker = lh.work(
      mail,
      {
        onVerdict: () => {
          throw new Error('my own bug');
        },
      },
      () => 1,
    );
    await expect(world.finish(worker.done)).rejects.toThrow('my own bug');
  });
});

describe('the hooks of a worker', () => {
  it('onRetry is told of a failure after which the task is tried again, and of no other', async () => {
    const tried: string[] = [];
    const onRetry = ({ taskId, error }: TaskVerdict) => tried.push(`${taskId}: ${(error as Error).message}`);
    const { taskId } = await add(1);
    await add(2);
    await start(
      ({ input, attempt }) => {
        if (input === 2) throw new NoRetry('no paper');
        if (attempt === 1) throw new Error('the printer burns');
      },
      { onRetry },
    );
    await world.advance(1_000);
    expect(verdicts).toHaveLength(3);
    expect(tried).toEqual([`${taskId}: the printer burns`]);
  });

  it('onLost is told how the lease was lost under its handler, once', async () => {
    const { taskId } = await add(1);
    const lost: LostTask[] = [];
    await start(({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)), {
      ttl: '9s',
      onLost: (task) => lost.push(task),
    });
    await world.finish(other.call('task.kill', { task_id: taskId, reason: 'by hand' }));
    await world.advance(9_000);
    expect(lost).toMatchObject([{ taskId, queue: 'mail', attempt: 1, loss: 'killed' }]);
  });

  it('onDrain is told once, when the worker takes no more tasks', async () => {
    let drains = 0;
    const worker = await start(() => undefined, { onDrain: () => drains++ });
    expect(drains).toBe(0);
    await world.finish(Promise.all([worker.drain(), worker.drain()]));
    expect(drains).toBe(1);
  });

  it('that throw stop the worker, and done says so', async () => {
    const onDrain = () => {
      throw new Error('my own bug');
    };
    const worker = await start(() => undefined, { onDrain, onFault: () => undefined });
    await expect(world.finish(worker.drain())).rejects.toThrow('my own bug');
  });
});

describe('a worker for several tasks', () => {
  it('gives each to its own handler and shares the concurrency', async () => {
    const print = defineTask<{ pages: number }, string>('print');
    const letter = await add({ to: 'ada' });
    const page = await world.finish(other.enqueue(print, { pages: 2 }));
    const jobs = [job(mail, () => 'mailed'), job(print, ({ input }) => `printed ${input.pages}`)];
    const worker = lh.work(jobs, { workerId: 'both' });
    await world.settle();
    expect(await world.finish(letter.result())).toMatchObject({ output: 'mailed' });
    expect(await world.finish(page.result())).toMatchObject({ output: 'printed 2' });
    expect(worker.workerId).toBe('both');
    expect(wire.sent[0]!.request).toMatchObject({ queues: ['mail', 'print'], worker_id: 'both' });
  });

  it('leases by the shortest ttl among them unless it has its own', async () => {
    const quick = defineTask('quick', { ttl: '5s' });
    const slow = defineTask('slow', { ttl: '1h' });
    lh.work([job(quick, () => 1), job(slow, () => 1)]);
    lh.work([job(quick, () => 1)], { ttl: '1m' });
    await world.settle();
    expect(wire.sent.map(({ request }) => request.ttl_ms)).toEqual([5_000, 60_000]);
  });
});

describe('the options of a worker', () => {
  it.each<[string, object, RegExp]>([
    ['an unknown one', { concurency: 2 }, /option concurency of a worker/],
    ['a concurrency of nothing', { concurrency: 0 }, /concurrency 0/],
    ['an unreadable ttl', { ttl: 'soon' }, /ttl "soon"/],
    ['a ttl that is too short', { ttl: '1ms' }, /ttl 1ms/],
    ['a wait that is too long', { wait: '1h' }, /wait 1h/],
    ['a signal that is none', { signal: new AbortController() }, /signal must be an AbortSignal/],
    ['a listener that is none', { onVerdict: 5 }, /onVerdict must be a function/],
    ['another that is none', { onFault: 5 }, /onFault must be a function/],
  ])('are refused before anything is leased: %s', (_what, options, says) => {
    expect(() => lh.work(mail, options, () => 1)).toThrow(says);
    expect(wire.sent).toEqual([]);
    expect(world.holds).toBe(0);
  });

  it('and its handlers are checked: none, two for one task, no function', () => {
    expect(() => lh.work([])).toThrow(/at least one task/);
    expect(() => lh.work(undefined as never, () => 1)).toThrow(/definition that defineTask returned/);
    expect(() => lh.work([null] as never)).toThrow(/jobs made by job/);
    expect(() => lh.work([job(mail, () => 1), job(mail, () => 2)])).toThrow(/two handlers/);
    expect(() => lh.work(mail, {}, undefined as never)).toThrow(/no function/);
  });
});
