// What a definition is, for the program that runs and for the compiler that reads it.
import { describe, expect, expectTypeOf, it } from 'vitest';
import { defineTask, type TaskDefinition } from './define-task.ts';
import type { Leasehold } from './leasehold.ts';
import type { StandardSchema } from './standard-schema.ts';
import { job } from './worker-options.ts';

function schema<Input, Output = Input>(): StandardSchema<Input, Output> {
  const validate = (value: unknown) => ({ value: value as Output });
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

const moment = schema<string, Date>();

describe('defineTask', () => {
  it('gives the name and what was said about it, and nothing can change that any more', () => {
    const task = defineTask('mail', { ttl: '1m', priority: 3, retry: { maxFailures: 2 }, input: moment });
    expect(task).toEqual({ name: 'mail', ttl: '1m', priority: 3, retry: { maxFailures: 2 }, input: moment });
    expect(Object.isFrozen(task)).toBe(true);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['no name', () => defineTask(''), /needs a name/],
    ['an unknown option', () => defineTask('mail', { retries: 3 } as never), /option retries of task mail/],
    [
      'an unknown part of retry',
      () => defineTask('mail', { retry: { max: 3 } } as never),
      /option max of task mail/,
    ],
    ['an unreadable duration', () => defineTask('mail', { retry: { backoff: 'soon' as '1s' } }), /"soon"/],
    [
      'a schedule that is never due',
      () => defineTask('mail', { schedule: { timeZone: 'UTC', input: 1 } as never }),
      /either cron or every/,
    ],
    [
      'a schedule that is due in two ways',
      () => defineTask('mail', { schedule: { cron: '@daily', every: '1h', input: 1 } }),
      /either cron or every/,
    ],
    [
      'what is no schema',
      () => defineTask('mail', { input: { parse: () => 1 } as never }),
      /input of task mail/,
    ],
  ])('refuses %s', (_what, define, says) => {
    expect(define).toThrow(says);
  });
});

describe('the types of a task', () => {
  it('come from its schemas, on each side as that side sees them', () => {
    const both = defineTask('both', { input: moment, output: schema<number, string>() });
    expectTypeOf(both).toEqualTypeOf<TaskDefinition<string, string, Date, number>>();
    const input = defineTask('input', { input: moment, ttl: 5 });
    expectTypeOf(input).toEqualTypeOf<TaskDefinition<string, unknown, Date>>();
    const saved = defineTask('saved', { input: moment, checkpoint: schema<number, string>() });
    expectTypeOf(saved).toEqualTypeOf<TaskDefinition<string, unknown, Date, unknown, string>>();
    const output = defineTask('output', { output: moment });
    expectTypeOf(output).toEqualTypeOf<TaskDefinition<unknown, Date, unknown, string>>();
  });

  it('are what the program says when there are no schemas', () => {
    expectTypeOf(defineTask('plain')).toEqualTypeOf<TaskDefinition<unknown, unknown>>();
    const typed = defineTask<{ to: string }, number>('typed', { priority: 1 });
    expectTypeOf(typed).toEqualTypeOf<TaskDefinition<{ to: string }, number>>();
  });

  it('reach enqueue, the handler and the result', () => {
    // Only the compiler reads this.
    const read = async (lh: Leasehold): Promise<void> => {
      const both = defineTask('both', { input: moment, output: schema<number, string>() });
      const typed = defineTask<{ to: string }, number>('typed');
      const result = await (await lh.enqueue(both, '2026')).result();
      if (result.state === 'COMPLETED') expectTypeOf(result.output).toEqualTypeOf<string>();
      else if (result.state === 'FAILED') expectTypeOf(result.reason).toEqualTypeOf<string>();
      // @ts-expect-error A number is no text.
      await lh.enqueue(both, 2026);
      // @ts-expect-error The recipient is missing.
      await lh.enqueue(typed, {});
      lh.work(both, {}, ({ input }) => input.getTime());
      // @ts-expect-error The result has to be a number.
      lh.work(both, {}, () => 'text');
      lh.work([job(both, async ({ input }) => input.getTime()), job(typed, ({ input }) => input.to.length)]);
      // @ts-expect-error The result has to be a number.
      lh.work([job(typed, ({ input }) => input.to)]);
    };
    expectTypeOf(read).returns.toEqualTypeOf<Promise<void>>();
  });
});
