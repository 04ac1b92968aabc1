// Making tasks by their definitions, and the receipts for them.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { Json } from '../protocol/json.ts';
import { defineTask } from './define-task.ts';
import type { Leasehold } from './leasehold.ts';
import type { StandardSchema } from './standard-schema.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;

const mail = defineTask<unknown, unknown>('mail');

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh, wire } = stage.client());
});

/** A call that is awaited later; a failure before that is not an unhandled rejection. */
function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

async function taskOf(taskId: string) {
  const task = await world.finish(lh.call('task.get', { task_id: taskId }));
  if (!task.ok) throw new Error(task.detail);
  return task;
}

/** Takes the task and ends it; how, says the caller. */
async function leased(queue = 'mail'): Promise<{ task_id: string; lease_id: string }> {
  const reply = await world.finish(lh.call('task.lease', { worker_id: 'w', queues: [queue] }));
  if (!reply.ok) throw new Error(reply.detail);
  const { task_id, lease_id } = reply.leases[0]!;
  return { task_id, lease_id };
}

/** A schema that takes text of this form. */
function text(form: RegExp, isSlow = false): StandardSchema<string> {
  const validate = (value: unknown) =>
    typeof value === 'string' && form.test(value) ? { value } : { issues: [{ message: `is not ${form}` }] };
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: isSlow ? async (value) => validate(value) : validate,
    },
  };
}

describe('enqueue', () => {
  it('makes a task whose queue is the name and whose payload is the input', async () => {
    const receipt = await world.finish(lh.enqueue(mail, { to: 'ada' }));
    expect(receipt).toMatchObject({ duplicate: false });
    const task = await taskOf(receipt.taskId);
    expect(task).toMatchObject({ queue: 'mail', state: 'WAITING', seq: receipt.seq });
    expect(task.payload!.text()).toBe('{"to":"ada"}');
  });

  it('keeps the input as it was when it was called', async () => {
    const input = { to: 'ada' };
    const call = lh.enqueue(mail, input);
    input.to = 'boris';
    const { taskId } = await world.finish(call);
    expect((await taskOf(taskId)).payload!.parse()).toEqual({ to: 'ada' });
  });

  it('takes a Json byte for byte, and nothing as null', async () => {
    const exact = await world.finish(lh.enqueue(mail, Json.text('{"n": 1.0}')));
    const nothing = await world.finish(lh.enqueue(mail, undefined));
    expect((await taskOf(exact.taskId)).payload!.text()).toBe('{"n": 1.0}');
    expect((await taskOf(nothing.taskId)).payload!.text()).toBe('null');
  });

  it('passes on what the definition says, and what the call says goes before it', async () => {
    const task = defineTask('mail', {
      priority: 5,
      maxAttempts: 7,
      retry: { maxFailures: 2, backoff: '5s' },
    });
    const plain = await world.finish(lh.enqueue(task, 1));
    expect(await taskOf(plain.taskId)).toMatchObject({
      priority: 5,
      max_attempts: 7,
      retry: { max_failures: 2, backoff_ms: 5_000, max_backoff_ms: 300_000 },
    });
    const options = {
      priority: -1,
      maxAttempts: 8,
      retry: { maxBackoff: '1h' },
      delay: '1m',
      dedupKey: 'k',
    } as const;
    const own = await world.finish(lh.enqueue(task, 1, options));
    const made = await taskOf(own.taskId);
    expect(made).toMatchObject({
      priority: -1,
      max_attempts: 8,
      retry: { max_failures: 2, backoff_ms: 5_000, max_backoff_ms: 3_600_000 },
      dedup_key: 'k',
    });
    expect(Date.parse(made.due_at) - Date.parse(made.created_at)).toBe(60_000);
  });

  it('leaves a task waiting until the time given as at, and not at all for a time that is over', async () => {
    const inAnHour = new Date(world.clock.wallMs() + 3_600_000);
    const dueMs = async (at: Date) => {
      const { due_at, created_at } = await taskOf((await world.finish(lh.enqueue(mail, 1, { at }))).taskId);
      return Date.parse(due_at) - Date.parse(created_at);
    };
    expect(await dueMs(inAnHour)).toBe(3_600_000);
    expect(await dueMs(new Date(0))).toBe(0);
  });

  it.each([
    ['beside a delay', { at: new Date(0), delay: '1m' } as const, 'Give either delay or at.'],
    ['without a time', { at: new Date(Number.NaN) }, 'The option at must be a valid Date.'],
  ])('refuses the option at %s', async (_when, options, says) => {
    await expect(world.finish(lh.enqueue(mail, 1, options))).rejects.toThrow(says);
    expect(wire.sent).toEqual([]);
  });

  it.each([
    ['at once', false],
    ['later', true],
  ])('refuses an input that does not fit, %s, and makes no task', async (_when, isSlow) => {
    const task = defineTask('digits', { input: text(/^\d+$/, isSlow) });
    await expect(world.finish(lh.enqueue(task, 'many'))).rejects.toMatchObject({
      code: 'INVALID_TASK',
      effect: 'none',
      retryable: false,
      message: 'The input of task digits does not fit its schema: is not /^\\d+$/',
    });
    expect(wire.sent).toEqual([]);
  });

  it('judges the input as the worker will see it, after its way through JSON', async () => {
    const dates: StandardSchema<Date> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => (value instanceof Date ? { value } : { issues: [{ message: 'is no date' }] }),
      },
    };
    const call = lh.enqueue(defineTask('dates', { input: dates }), new Date(0));
    await expect(world.finish(call)).rejects.toMatchObject({ code: 'INVALID_TASK' });
  });

  it('refuses an input that has no JSON form', async () => {
    await expect(world.finish(lh.enqueue(mail, 10n))).rejects.toMatchObject({
      code: 'INVALID_TASK',
      effect: 'none',
    });
    expect(wire.sent).toEqual([]);
  });

  it.each(['mail', { nme: 'mail' }, null, () => 1])(
    'refuses %j in the place of a definition',
    async (given) => {
      await expect(lh.enqueue(given as never, 1)).rejects.toThrow(TypeError);
      expect(() => lh.work(given as never, {}, () => 1)).toThrow(
        'Pass the definition that defineTask returned',
      );
      expect(wire.sent).toEqual([]);
    },
  );

  it('refuses unknown options of a retry', async () => {
    const misspelt = { retry: { maxFailure: 3 } } as object;
    await expect(lh.enqueue(mail, 1, misspelt)).rejects.toThrow(
      'The option maxFailure of enqueue is not known',
    );
  });

  it('refuses unknown options', async () => {
    const call = lh.enqueue(mail, 1, { delayMs: 5 } as object);
    await expect(world.finish(call)).rejects.toThrow(/option delayMs of enqueue/);
  });

  it('throws the refusal of the authority', async () => {
    await world.finish(lh.enqueue(mail, 1, { taskId: 'mine' }));
    await expect(world.finish(lh.enqueue(mail, 2, { taskId: 'mine' }))).rejects.toMatchObject({
      code: 'TASK_ID_CONFLICT',
      effect: 'none',
    });
  });

  it('says when the task was there already, by its id or its dedup key', async () => {
    const first = await world.finish(lh.enqueue(mail, 1, { taskId: 'mine', dedupKey: 'k' }));
    expect(await world.finish(lh.enqueue(mail, 1, { taskId: 'mine' }))).toMatchObject({
      taskId: 'mine',
      seq: first.seq,
      duplicate: true,
    });
    expect(await world.finish(lh.enqueue(mail, 2, { dedupKey: 'k' }))).toMatchObject({
      taskId: 'mine',
      duplicate: true,
    });
  });
});

describe('a receipt', () => {
  it('says how things stand when it is not told to wait', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1));
    expect(await world.finish(receipt.result())).toEqual({ state: 'WAITING' });
    await leased();
    expect(await world.finish(receipt.result())).toEqual({ state: 'LEASED' });
  });

  it('gives the output once the task is completed', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1));
    const waiting = receipt.result({ wait: '10s' });
    const lease = await leased();
    expect(await isSettled(waiting)).toBe(false);
    await world.finish(lh.call('task.complete', { ...lease, result: { sent: true } }));
    expect(await world.finish(waiting)).toEqual({ state: 'COMPLETED', output: { sent: true } });
  });

  it('gives the reason when it has failed or was killed', async () => {
    const failed = await world.finish(lh.enqueue(mail, 1));
    await world.finish(lh.call('task.fail', { ...(await leased()), reason: 'no paper', retry: false }));
    expect(await world.finish(failed.result())).toEqual({ state: 'FAILED', reason: 'no paper' });
    const killed = await world.finish(lh.enqueue(mail, 2));
    await world.finish(lh.call('task.kill', { task_id: killed.taskId, reason: 'enough' }));
    expect(await world.finish(killed.result())).toEqual({ state: 'DEAD', reason: 'enough' });
  });

  it('says how things stand when the wait is over', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1));
    const waiting = receipt.result({ wait: '10s' });
    await world.advance(9_999);
    expect(await isSettled(waiting)).toBe(false);
    await world.advance(1);
    expect(await world.finish(waiting)).toEqual({ state: 'WAITING' });
  });

  it('waits for long in polls of a minute at most', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1));
    const waiting = receipt.result({ wait: '2.5m' });
    await world.advance(150_000);
    expect(await world.finish(waiting)).toEqual({ state: 'WAITING' });
    const waits = wire.sent
      .filter(({ operation }) => operation === 'task.get')
      .map(({ request }) => request.wait_ms);
    expect(waits).toEqual([60_000, 60_000, 30_000]);
  });

  it('waits for a task that is not known yet, if it was told for how long', async () => {
    const receipt = lh.receipt(mail, 'from-an-outbox');
    await expect(world.finish(receipt.output())).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    const output = later(receipt.output({ wait: '10s' }));
    await world.advance(500);
    expect(await isSettled(output)).toBe(false);
    await world.finish(lh.enqueue(mail, 1, { taskId: 'from-an-outbox' }));
    await world.finish(lh.call('task.complete', { ...(await leased()), result: 'done' }));
    await world.advance(1_000);
    expect(await output).toBe('done');
    const never = later(lh.receipt(mail, 'never').output({ wait: '1s' }));
    await world.advance(2_000);
    await expect(never).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  });

  it('gives up waiting when its signal aborts', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1));
    const giveUp = new AbortController();
    const waiting = later(receipt.result({ wait: '10s', signal: giveUp.signal }));
    await world.settle();
    giveUp.abort(new Error('no longer needed'));
    await expect(world.finish(waiting)).rejects.toThrow('no longer needed');
  });

  it('outlasts a server that is away, as long as it was told to wait', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1));
    wire.let('task.get', 'fails');
    const waiting = receipt.result({ wait: '1m' });
    await world.advance(30_000);
    wire.mend();
    await world.finish(lh.call('task.complete', { ...(await leased()), result: 1 }));
    await world.advance(5_000);
    expect(await world.finish(waiting)).toEqual({ state: 'COMPLETED', output: 1 });
  });

  it('throws the fault when the wait is over and the server still away', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1));
    wire.let('task.get', 'fails');
    const waiting = later(receipt.result({ wait: '1s' }));
    await world.advance(1_000);
    await expect(world.finish(waiting)).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await expect(world.finish(receipt.result())).rejects.toMatchObject({ code: 'UNREACHABLE' });
    expect(world.holds).toBe(0);
  });

  it('is available for a task that another client created, from its id alone', async () => {
    await world.finish(lh.call('task.create', { payload: 1, queue: 'mail', task_id: 'by-curl' }));
    await world.finish(lh.call('task.complete', { ...(await leased()), result: 'ok' }));
    const receipt = lh.receipt(mail, 'by-curl');
    expect(await world.finish(receipt.result())).toEqual({ state: 'COMPLETED', output: 'ok' });
    await expect(world.finish(lh.receipt(mail, 'nobody').result())).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    });
  });

  it('refuses an output that does not fit the definition', async () => {
    const digits = defineTask('digits', { output: text(/^\d+$/) });
    const receipt = await world.finish(lh.enqueue(digits, 1));
    await world.finish(lh.call('task.complete', { ...(await leased('digits')), result: 'many' }));
    await expect(world.finish(receipt.result())).rejects.toMatchObject({ code: 'INVALID_TASK' });
  });

  it('shows what it is for, and not how it gets there', async () => {
    const receipt = await world.finish(lh.enqueue(mail, 1, { taskId: 'mine' }));
    expect(JSON.parse(JSON.stringify(receipt))).toEqual({
      taskId: 'mine',
      seq: receipt.seq,
      duplicate: false,
      state: 'WAITING',
    });
  });
});
