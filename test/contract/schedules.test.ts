// Schedules through the handle: put, get, list, pause, resume, delete, fire; the policy of a definition, and apply.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineTask } from '../../src/client/define-task.ts';
import type { StandardSchema } from '../../src/client/standard-schema.ts';
import { type TestLeasehold, testLeasehold } from '../../src/testing/test-leasehold.ts';

/** Only positive numbers. */
const positive: StandardSchema<number, number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'number' && value > 0 ? { value } : { issues: [{ message: 'not positive' }] },
  },
};
const report = defineTask('report', { input: positive, priority: 3, retry: { maxFailures: 2 } });

let t: TestLeasehold;

beforeEach(async () => {
  t = await testLeasehold();
});
afterEach(() => t.close());

describe('lh.schedules', () => {
  it('creates tasks of a definition, which a worker gets like any others', async () => {
    const worked: number[] = [];
    await t.lh.schedules.put('hourly', { task: report, input: 7, every: '1h' });
    t.lh.work(report, ({ input }) => void worked.push(input));
    await t.advance('2h');
    expect(worked).toEqual([7, 7]);
    expect(await t.lh.schedules.get('hourly')).toMatchObject({
      everyMs: 3_600_000,
      queue: 'report',
      priority: 3,
      retry: { maxFailures: 2 },
      overlap: 'skip',
      catchUp: 'one',
      paused: false,
      applied: false,
    });
  });

  it('takes every option, and gives it back', async () => {
    const startsAt = new Date('2030-01-01T00:00:00Z');
    const endsAt = new Date('2031-01-01T00:00:00Z');
    const options = {
      overlap: 'allow',
      catchUp: 'all',
      jitter: '5s',
      startsAt,
      endsAt,
      paused: true,
    } as const;
    const set = await t.lh.schedules.put('nightly', {
      task: report,
      input: 1,
      cron: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      ...options,
    });
    expect(set).toMatchObject({
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      overlap: 'allow',
      catchUp: 'all',
      jitterMs: 5_000,
      startsAt: startsAt.toISOString(),
      endsAt: endsAt.toISOString(),
      paused: true,
      nextAt: null,
    });
  });

  it('checks the input, the options and the pattern', async () => {
    const { schedules } = t.lh;
    const put = (more: object) => schedules.put('s', { task: report, input: 1, every: '1h', ...more });
    await expect(put({ input: -1 })).rejects.toMatchObject({ code: 'INVALID_TASK' });
    await expect(put({ evry: 1 })).rejects.toThrow('evry');
    await expect(put({ every: undefined, cron: '61 * * * *' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('61'),
    });
    expect(await schedules.get('s')).toBeNull();
  });

  it('pauses, resumes, fires and deletes', async () => {
    const { schedules } = t.lh;
    await schedules.put('s', { task: report, input: 1, every: '1h' });
    await schedules.pause('s');
    const { taskId } = await schedules.fire('s');
    expect(await t.lh.tasks.get(taskId)).toMatchObject({ schedule: 's', queue: 'report' });
    await schedules.resume('s');
    expect((await schedules.list()).items).toMatchObject([{ name: 's', paused: false, lastTaskId: taskId }]);
    expect([await schedules.delete('s'), await schedules.delete('s')]).toEqual([true, false]);
    await expect(schedules.pause('s')).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' });
  });
});

describe('lh.apply', () => {
  const hourly = defineTask<null>('hourly', { schedule: { every: '1h', input: null } });

  it('sets the schedules of definitions, which have their names', async () => {
    expect(await t.lh.apply([hourly, report])).toEqual([
      { task: 'hourly', schedule: 'applied' },
      { task: 'report' },
    ]);
    expect(await t.lh.schedules.get('hourly')).toMatchObject({ applied: true, everyMs: 3_600_000 });
  });

  it('leaves alone what was set by hand until that is removed, and what was paused', async () => {
    await t.lh.schedules.put('hourly', { task: hourly, input: null, every: '2h' });
    expect(await t.lh.apply([hourly])).toEqual([{ task: 'hourly', schedule: 'kept' }]);
    await t.lh.schedules.delete('hourly');
    await t.lh.apply([hourly]);
    await t.lh.schedules.pause('hourly');
    await t.lh.apply([defineTask<null>('hourly', { schedule: { every: '3h', input: null } })]);
    expect(await t.lh.schedules.get('hourly')).toMatchObject({ everyMs: 10_800_000, paused: true });
  });

  it('says which definition it is that has a wrong cron', async () => {
    const nightly = defineTask<null>('nightly', { schedule: { cron: '61 * * * *', input: null } });
    await expect(t.lh.apply([hourly, nightly])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^The schedule of task nightly: .*the minute cannot be 61/),
    });
  });

  it('deletes nothing when a definition has lost its schedule, and says so', async () => {
    await t.lh.apply([hourly]);
    expect(await t.lh.apply([defineTask('hourly')])).toEqual([{ task: 'hourly', schedule: 'left' }]);
    expect(await t.lh.schedules.get('hourly')).not.toBeNull();
  });
});

describe('a definition', () => {
  it('refuses a schedule that is wrong where it is written', () => {
    expect(() => defineTask('t', { schedule: { every: 'soon' as never, input: 1 } })).toThrow(TypeError);
    expect(() => defineTask('t', { schedule: { every: '1h', input: 1, often: true } as never })).toThrow(
      'often',
    );
  });
});
