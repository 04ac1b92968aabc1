// Due times of cron patterns where clocks are changed: what does not exist is due at the next instant that does, what
// exists twice is due once.
import { describe, expect, it, vi } from 'vitest';
import { calendar, faultOfCron, isTimeZone } from './calendar.ts';

function dueTimes(cron: string, timezone: string, from: string, count: number): string[] {
  const found: string[] = [];
  let ms = Date.parse(from);
  for (let due = calendar.next(cron, timezone, ms); due !== null; due = calendar.next(cron, timezone, ms)) {
    ms = due;
    found.push(calendar.instant(due).replace(':00.000Z', 'Z'));
    if (found.length === count) break;
  }
  return found;
}

describe('a cron pattern', () => {
  it.each([
    ['*/15 9 * * MON-FRI', ['2026-01-05T09:00Z', '2026-01-05T09:15Z', '2026-01-05T09:30Z']],
    ['@daily', ['2026-01-03T00:00Z', '2026-01-04T00:00Z', '2026-01-05T00:00Z']],
    ['@hourly', ['2026-01-02T13:00Z', '2026-01-02T14:00Z', '2026-01-02T15:00Z']],
    ['30 6 1 feb,MAR *', ['2026-02-01T06:30Z', '2026-03-01T06:30Z', '2027-02-01T06:30Z']],
    ['0 0 29 2 *', ['2028-02-29T00:00Z', '2032-02-29T00:00Z', '2036-02-29T00:00Z']],
    ['0 12 13 * FRI', ['2026-01-09T12:00Z', '2026-01-13T12:00Z', '2026-01-16T12:00Z']],
    ['*/20 59 12 * * *', ['2026-01-02T12:59Z', '2026-01-02T12:59:20.000Z', '2026-01-02T12:59:40.000Z']],
  ])('%s is due at the times it names', (cron, expected) => {
    expect(dueTimes(cron, 'UTC', '2026-01-02T12:58:30Z', 3)).toEqual(expected);
  });

  it.each([
    ['61 * * * *', 'the minute cannot be 61; it takes 0 to 59'],
    ['61 * * * * *', 'the second cannot be 61; it takes 0 to 59'],
    ['0 24 * * *', 'the hour cannot be 24; it takes 0 to 23'],
    ['0 0 32 * *', 'the day of the month cannot be 32; it takes 1 to 31'],
    ['0 0 1 13 *', 'the month cannot be 13; it takes 1 to 12 or JAN to DEC'],
    ['0 0 * * FRI-MON', 'the day of the week cannot be FRI-MON; it takes 0 to 7, SUN to SAT'],
    ['0 0 * * MONDAY', 'the day of the week cannot be MONDAY'],
    ['5/15 * * * *', 'the minute cannot be 5/15'],
    ['* * * *', 'five fields'],
    ['* * * * * * *', 'five fields'],
    ['2027-01-01T00:00:00', 'five fields'],
    ['@reboot', 'five fields'],
    ['nightly', 'five fields'],
    ['', 'five fields'],
    ['0 0 31 2 *', 'no day ever matches it'],
    ['H * * * *', 'the minute cannot be H'],
  ])('%s is refused, and it says why', (cron, says) => {
    expect(faultOfCron(cron)).toContain(says);
  });

  it('is taken in a time zone that exists', () => {
    expect(['UTC', 'Europe/Berlin', 'America/New_York'].every(isTimeZone)).toBe(true);
    expect(['Mars/Olympus', '', 'Europe Berlin'].some(isTimeZone)).toBe(false);
  });
});

describe('a list of due times', () => {
  it('costs nothing when it is asked for again', () => {
    const local = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
    const list = () => dueTimes('15 4 * * *', 'Asia/Tokyo', '2026-01-02T12:00Z', 5);
    const first = list();
    const looks = local.mock.calls.length;
    expect([list(), local.mock.calls.length]).toEqual([first, looks]);
    expect(looks).toBeGreaterThan(0);
    local.mockRestore();
  });
});

describe('where clocks go forward', () => {
  it.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:00Z']],
    ['*/30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:00Z']],
    [
      '0 * * * *',
      'Europe/Berlin',
      '2026-03-28T23:30Z',
      ['2026-03-29T00:00Z', '2026-03-29T01:00Z', '2026-03-29T02:00Z'],
    ],
    ['30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', ['2026-03-08T07:00Z', '2026-03-09T06:30Z']],
    ['0 0 * * *', 'America/Santiago', '2026-09-05T12:00Z', ['2026-09-06T04:00Z', '2026-09-07T03:00Z']],
    ['30 0 * * *', 'America/Havana', '2026-03-07T12:00Z', ['2026-03-08T05:00Z', '2026-03-09T04:30Z']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00Z', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
    ['30 2 * * *', 'Antarctica/Troll', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
  ])('%s in %s is due at the next instant that exists', (cron, timezone, from, expected) => {
    expect(dueTimes(cron, timezone, from, expected.length)).toEqual(expected);
  });
});

describe('where clocks go back', () => {
  it.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    [
      '0,30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-26T01:00Z'],
    ],
    [
      '*/30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:30Z', '2026-10-25T02:00Z', '2026-10-25T02:30Z'],
    ],
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', ['2026-11-01T05:30Z', '2026-11-02T06:30Z']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00Z', ['2026-04-04T14:45Z', '2026-04-05T15:15Z']],
    ['30 2 * * *', 'Antarctica/Troll', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T02:30Z']],
  ])('%s in %s is due once, the first time', (cron, timezone, from, expected) => {
    expect(dueTimes(cron, timezone, from, expected.length)).toEqual(expected);
  });

  it('is not due again for one who asks while the hour is repeated', () => {
    expect(dueTimes('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:15Z', 1)).toEqual(['2026-10-26T01:30Z']);
    expect(dueTimes('* * * * *', 'Europe/Berlin', '2026-10-25T01:15Z', 1)).toEqual(['2026-10-25T02:00Z']);
  });

  it('is due at times that only grow, through a whole year of changes', () => {
    for (const timezone of ['Europe/Berlin', 'America/St_Johns', 'Africa/Casablanca', 'Asia/Kathmandu']) {
      let ms = Date.parse('2026-01-01T00:00Z');
      for (let step = 0; step < 8 * 365; step++) {
        const due = calendar.next('7 */3 * * *', timezone, ms)!;
        expect(due).toBeGreaterThan(ms);
        expect(due - ms).toBeLessThanOrEqual(4 * 3_600_000);
        ms = due;
      }
    }
  });
});
