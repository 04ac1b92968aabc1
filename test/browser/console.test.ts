// The console as the person on call sees it: a real server, real holders and workers, and a real Chromium.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/cli-processes.ts';
import { ConsoleBench, PHONE } from '../support/console-bench.ts';

const bench = new ConsoleBench();
const ODD_NAME = '<script>alert(1)</script>"\'$(id)\u202eexe';

beforeAll(async () => {
  await Promise.all([bench.serve(), bench.open()]);
});
afterAll(() => bench.close());

describe('Now', () => {
  it('says what is wrong in sentences, shows queues with their real workers, and follows along', async () => {
    bench.start(['work', 'mail', '--concurrency', '2', '--', 'cat']);
    for (let n = 0; n < 5; n++) await bench.call('/v1/tasks', { queue: 'mail', payload: n });
    await bench.call('/v1/tasks', { queue: 'transcode', payload: 1, task_id: 'film' });
    await bench.call('/v1/tasks/lease', { worker_id: 'w7', queues: ['transcode'], ttl_ms: 100 });
    await bench.call('/v1/tasks', { queue: 'thumbnails', payload: 1 });
    await bench.call('/v1/queues/thumbnails/pause', {});
    const page = await bench.tab('now');
    await page.getByText('Task film in transcode lost its lease').waitFor();
    await page.getByText('thumbnails is paused, and 1 ready task waits.').waitFor();
    const mail = page.getByRole('row', { name: /^mail/ });
    await mail.waitFor();
    const ready = page
      .getByRole('row', { name: /^reports/ })
      .getByRole('cell')
      .first();
    for (let n = 0; n < 3; n++) await bench.call('/v1/tasks', { queue: 'reports', payload: n });
    await until('the new tasks on the screen', async () => (await ready.textContent()) === '3');
    await bench.expectSound(page, 'now-1440-light');
    const phone = await bench.tab('now', PHONE);
    await phone.getByRole('heading', { name: 'Queues' }).waitFor();
    await bench.expectSound(phone, 'now-390-dark');
  });

  it('can be paused, and the keys go to other views, search and help', async () => {
    const page = await bench.tab('now');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.keyboard.press('p');
    await page.getByText('Paused', { exact: true }).waitFor();
    const seq = await page.locator('.seq').textContent();
    await bench.call('/v1/tasks', { queue: 'quiet', payload: 1 });
    await page.waitForTimeout(2_500);
    expect(await page.locator('.seq').textContent()).toBe(seq);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('row', { name: /^quiet/ }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.getByRole('heading', { name: 'Leases' }).waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('search');
    await page.keyboard.press('Escape');
    await page.evaluate(() => (document.activeElement as { blur?: () => void } | null)?.blur?.());
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await bench.expectSound(page, 'help');
  });

  it('shows times in the zone of the reader, and in UTC when asked', async () => {
    const page = await bench.tab('now');
    await page.getByRole('button', { name: /Europe\/Berlin/ }).click();
    await page.getByRole('button', { name: /UTC/ }).waitFor();
  });
});

describe('Leases', () => {
  it('shows every live lease by prefix, and a lease being lost on the screen with its cause', async () => {
    const holder = bench.start(['run', 'nightly-report', '--ttl', '3s', '--', 'sleep', '600']);
    for (const slot of [0, 2]) {
      await bench.call(`/v1/leases/gpu:${slot}/acquire`, { holder: `trainer-${slot}`, ttl_ms: 600_000 });
    }
    const page = await bench.tab('leases');
    const row = page.getByRole('row', { name: /nightly-report/ });
    await row.getByText(/\d s$/).waitFor();
    await page.getByTitle('Slot 1 is free').waitFor();
    await bench.expectSound(page, 'leases-1440-light');
    holder.kill('SIGSTOP');
    await row.getByText('expired without a renewal').waitFor();
    await page.screenshot({ path: 'artifacts/console/leases-lost.png' });
    await row.waitFor({ state: 'detached' });
  });

  it('shows odd names visibly and harmlessly, also in links', async () => {
    await bench.call(`/v1/leases/${encodeURIComponent(ODD_NAME)}/acquire`, {
      holder: 'h\u200b$(x)',
      ttl_ms: 600_000,
    });
    const page = await bench.tab('leases', PHONE);
    await page.getByRole('link', { name: '<script>' }).click();
    await page
      .getByRole('heading', { level: 1, name: /<script>alert\(1\)<\/script>"'\$\(id\)U\+202Eexe/ })
      .waitFor();
    await page.getByText('U+200B').first().waitFor();
    await bench.expectSound(page, 'lease-odd-390-dark');
    const curl = await page.getByRole('button', { name: 'Copy as curl' }).getAttribute('title');
    expect(curl).toContain(
      `'${bench.url}/v1/leases/${encodeURIComponent(ODD_NAME).replaceAll("'", "'\\''")}'`,
    );
  });

  it('shows who waits and who held it, and breaks it after a confirmation that says what will happen', async () => {
    const { lh } = bench;
    const first = await lh.acquire('ledger', { holder: 'writer-1', ttl: '10m' });
    const second = lh.acquire('ledger', { holder: 'writer-2', ttl: '10m', wait: '1m' });
    const page = await bench.tab('leases/ledger');
    await page.getByRole('row', { name: /writer-2/ }).waitFor();
    await page.getByRole('button', { name: 'Break…' }).click();
    await page.getByText(`writer-2 is first in line and gets it.`).waitFor();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain(`under number ${first.leaseSeq} ends at once`);
    const button = page.getByRole('button', { name: 'Break the lease' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('writer-1 hangs');
    await bench.expectSound(page, 'lease-break');
    await button.click();
    await page.getByText(/writer-2 holds it since/).waitFor();
    await page
      .getByRole('listitem')
      .getByText(/broken, “writer-1 hangs”/)
      .waitFor();
    await second;
    await bench.expectSound(page, 'lease-1440-light');
  });
});

describe('a server that goes away', () => {
  it('is said to be away, and is found again by itself', async () => {
    const page = await bench.tab('leases');
    await page.getByText('Live', { exact: true }).waitFor();
    await bench.stopServer('SIGTERM');
    await page.getByText(/No answer since/).waitFor();
    await bench.serve();
    await page.getByText('Live', { exact: true }).waitFor();
  });
});
