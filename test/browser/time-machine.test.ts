// The time machine against a log that is known entry by entry: every view shows the moment of the URL, and nothing can be changed.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/cli-processes.ts';
import { ConsoleBench, DESK, PHONE } from '../support/console-bench.ts';

const bench = new ConsoleBench();
/** The positions of the story: what happened at each. */
const seqs = { granted: 0, written: 0, created: 0, broken: 0, taken: 0, completed: 0 };

beforeAll(async () => {
  await Promise.all([bench.serve(), bench.open()]);
  const acquire = (holder: string) =>
    bench.call('/v1/leases/ledger/acquire', { holder, ttl_ms: 600_000, metadata: { holder } });
  const write = (leaseSeq: number, balance: number) =>
    bench.call('/v1/objects/ledger', { value: { balance }, lease: { lease_seq: leaseSeq } }, 'PUT');
  const first = await acquire('writer-1');
  seqs.granted = first.lease_seq;
  seqs.written = (await write(first.lease_seq, 1)).seq;
  seqs.created = (await bench.call('/v1/tasks', { task_id: 'film', queue: 'films', payload: 1 })).seq;
  seqs.broken = (await bench.call('/v1/leases/ledger/break', { reason: 'it hangs' })).seq;
  const second = await acquire('writer-2');
  seqs.taken = second.lease_seq;
  await write(second.lease_seq, 2);
  const { leases } = await bench.call('/v1/tasks/lease', { worker_id: 'w1', queues: ['films'] });
  const done = { lease_id: leases[0].lease_id, result: 'done' };
  seqs.completed = (await bench.call('/v1/tasks/film/complete', done)).seq;
});
afterAll(() => bench.close());

const saysMoment = (page: Page, seq: number) => page.getByText(`As of seq ${seq},`).waitFor();

describe('the time machine', () => {
  it('shows a lease as it was, entry by entry, and comes back to live with one key', async () => {
    const page = await bench.tab('leases/ledger');
    await page.getByText(/writer-2 holds it since/).waitFor();
    await page.getByRole('button', { name: 'Break…' }).waitFor();
    await page.keyboard.press('t');
    await saysMoment(page, seqs.completed);
    await page.keyboard.press('[');
    await saysMoment(page, seqs.broken);
    await page.getByText('No one held it then.').waitFor();
    await page
      .getByRole('listitem')
      .getByText(/lost after .*: broken, “it hangs”/)
      .waitFor();
    await page.keyboard.press('ArrowLeft');
    await saysMoment(page, seqs.broken - 1);
    await page.getByText(/writer-1 holds it since/).waitFor();
    await page.getByRole('listitem').getByText('still held').waitFor();
    expect(await page.getByText('writer-2').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Break…' }).count()).toBe(0);
    expect(await page.evaluate(() => document.documentElement.className)).toBe('past');
    await bench.expectSound(page, 'time-machine-1440-light');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.getByText(/writer-2 holds it since/).waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Break…' }).waitFor();
    expect(await page.evaluate(() => document.documentElement.className)).toBe('');
  });

  it('shows every view at the moment of its URL, and says what the log does not know', async () => {
    const page = await bench.tab(`fences/ledger?at_seq=${seqs.broken}`, PHONE);
    const see = async (view: string, text: string | RegExp, seq = seqs.broken): Promise<void> => {
      await page.goto(`${bench.url}/#/${view}?at_seq=${seq}`);
      await saysMoment(page, seq);
      await page.getByText(text).first().waitFor();
    };
    await page.getByText('"balance": 1').waitFor();
    await page.getByText('Refused writes are not in the log').waitFor();
    await see('fences/ledger', 'No object was stored under this name.', seqs.granted);
    await see('tasks/film', 'Why is it not running?');
    await see('tasks/film', 'TASK_NOT_FOUND', seqs.written);
    await see('tasks/film', 'Completed at', seqs.completed);
    await see('workers', 'Workers are not in the log');
    await see('leases', 'ledger', seqs.taken);
    await see('queues/films', 'Waiting');
    await see('schedules', 'Schedules');
    await see('sessions', 'No session');
    await see('log', 'NameBroken');
    expect(await page.getByText('TaskCompleted').count()).toBe(0);
    await see('now', 'films');
    const films = page.getByRole('row', { name: /^films/ }).getByRole('cell');
    expect(await films.allTextContents()).toEqual(['1', '0', '0', '0', '0']);
    await bench.expectSound(page, 'time-machine-390-dark');
    await page.goto(`${bench.url}/#/now?at_seq=999999`);
    await page.getByRole('alert').getByText('INVALID_ARGUMENT').first().waitFor();
    await page.getByRole('button', { name: 'Back to live' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('finds the newest loss behind hundreds of earlier ones', async () => {
    const { url } = await bench.another([]);
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    };
    for (let n = 0; n < 6; n++) {
      await post('/v1/batch', {
        ops: Array.from({ length: 100 }, () => ({ op: 'task.create', queue: 'films', payload: 1 })),
      });
      await post('/v1/tasks/lease', { worker_id: 'w1', queues: ['films'], max: 100, ttl_ms: 100 });
    }
    await until('the losses', async () => {
      const { queues } = await (await fetch(`${url}/v1/overview`)).json();
      return queues[0].totals.expired === 600;
    });
    await post('/v1/leases/ledger/acquire', { holder: 'writer', ttl_ms: 600_000 });
    const { seq } = await post('/v1/leases/ledger/break', { reason: 'it hangs' });
    await post('/v1/leases/ledger/acquire', { holder: 'writer', ttl_ms: 600_000 });
    const page = await bench.tab('now', DESK, url);
    await page.getByRole('button', { name: 'Time machine' }).click();
    await page.getByRole('button', { name: 'Loss before' }).click();
    await saysMoment(page, seq);
  });

  it('goes to a time, plays forward to the end, and moves by the scrubber', async () => {
    const page = await bench.tab(`leases/ledger?at_seq=${seqs.granted}`);
    await saysMoment(page, seqs.granted);
    await page.getByLabel('Speed').selectOption('1000');
    await page.keyboard.press('Escape');
    await page.goto(`${bench.url}/#/leases/ledger?at_seq=${seqs.granted}`);
    await page.getByRole('button', { name: 'Play' }).click();
    await saysMoment(page, seqs.completed);
    await page.getByText(/writer-2 holds it since/).waitFor();
    await page.getByRole('slider').fill(String(seqs.written));
    await saysMoment(page, seqs.written);
    await page.getByText(/writer-1 holds it since/).waitFor();
    const { entries } = await bench.get('/v1/leases/ledger/history');
    const { at } = entries.find(({ seq }: { seq: number }) => seq === seqs.broken);
    await page.getByLabel('Seq or time to go to').fill(at);
    await page.keyboard.press('Enter');
    await until('the position of that time', async () =>
      /As of seq \d+/.test((await page.locator('.says-moment').textContent()) ?? ''),
    );
    expect(page.url()).toContain(`at=${encodeURIComponent(at)}`);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('.says-moment').waitFor();
    expect(await other.locator('.says-moment b').first().textContent()).toBe(
      await page.locator('.says-moment b').first().textContent(),
    );
  });
});
