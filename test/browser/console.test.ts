// The console as the person on call sees it: a real server, real holders and workers, and a real Chromium.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/cli-processes.ts';
import { ConsoleBench, DESK, PHONE } from '../support/console-bench.ts';

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
    for (let n = 0; n < 2; n++) {
      const lost = { worker_id: 'w7', queues: ['transcode'], ttl_ms: 100, wait_ms: 10_000 };
      await bench.call('/v1/tasks/lease', lost);
    }
    await bench.call('/v1/tasks', { queue: 'thumbnails', payload: 1 });
    await bench.call('/v1/queues/thumbnails/pause', {});
    const page = await bench.tab('now');
    await page.getByText('Task film in transcode lost its lease 2 times').waitFor();
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
    const setVisibility = (state: string) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'visibilityState', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
      }, state);
    await setVisibility('hidden');
    await page.getByText('Paused while hidden', { exact: true }).waitFor();
    await setVisibility('visible');
    await page.getByText('Live', { exact: true }).waitFor();
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
    await row.getByText(/\d s$/).first().waitFor();
    await page.getByTitle('Slot 1 is free').waitFor();
    const left = async (selector: string) => (await page.locator(selector).first().boundingBox())?.x;
    expect(await left('.slots')).toBe(await left('.lease-row:not(.head, .group) > span:nth-child(2)'));
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
    // As on a page over plain HTTP from another machine.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
  });

  it('shows who waits and who held it, and breaks it after a confirmation that says what will happen', async () => {
    const { lh } = bench;
    const first = await lh.acquire('ledger', { holder: 'writer-1', ttl: '10m' });
    const second = lh.acquire('ledger', { holder: 'writer-2', ttl: '10m', wait: '1m' });
    const page = await bench.tab('leases');
    const held = page.getByRole('row', { name: /^ledger/ });
    await until(
      'the length of the line',
      async () => (await held.getByRole('cell').nth(3).textContent()) === '1',
    );
    await held.getByRole('link').click();
    await page.getByRole('row', { name: /writer-2/ }).waitFor();
    await page.getByRole('button', { name: 'Ask to give way…' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('writer-2 is urgent');
    await page.getByRole('button', { name: 'Ask the holder' }).click();
    await page.getByRole('dialog').getByText('writer-1 was told.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
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

  it('finds the end of a lease behind more than a thousand renewals', async () => {
    const granted = await bench.call('/v1/leases/busy/acquire', { holder: 'host-1', ttl_ms: 600_000 });
    const renewal = { op: 'lease.renew', name: 'busy', holder: 'host-1', token: granted.token };
    await bench.call('/v1/batch', {
      ops: Array.from({ length: 1_100 }, (_, n) => ({ ...renewal, ttl_ms: 600_001 + n })),
    });
    await bench.call('/v1/leases/busy/break', { reason: 'enough' });
    const page = await bench.tab('leases/busy');
    await page
      .getByRole('listitem')
      .getByText(/broken, “enough” · renewed 1100 times/)
      .waitFor();
  });
});

describe('Tasks', () => {
  it('shows one task: its attempts in lanes, a late completion as refused, and why it is not running', async () => {
    const { lh } = bench;
    await lh.call('task.create', {
      task_id: 'film-1',
      queue: 'films',
      payload: { n: 1 },
      retry: { backoff_ms: 60_000 },
    });
    const lease = async (ttlMs: number) => {
      const reply = await lh.call('task.lease', {
        worker_id: 'w7',
        queues: ['films'],
        ttl_ms: ttlMs,
        wait_ms: 5_000,
      });
      if (!reply.ok || reply.leases.length === 0) throw new Error('There was no task.');
      return reply.leases[0]!;
    };
    const first = await lease(150);
    const second = await lease(60_000);
    await lh.call('task.complete', { task_id: 'film-1', lease_id: first.lease_id, result: 'late' });
    await lh.call('task.checkpoint', { task_id: 'film-1', lease_id: second.lease_id, value: { frame: 9 } });
    const page = await bench.tab('tasks/film-1');
    await page
      .getByText(/Its completion arrived .* late and was refused\./)
      .first()
      .waitFor();
    await page.getByText('"frame": 9').waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByText('w7 is told to stop with its next heartbeat.').waitFor();
    await page.getByRole('button', { name: 'Keep as it is' }).click();
    await bench.expectSound(page, 'task-1440-light');
    await lh.call('task.fail', { task_id: 'film-1', lease_id: second.lease_id, reason: 'no space' });
    await page.getByText('Why is it not running?').waitFor();
    await page
      .getByText(/after it failed with: no space/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('not needed');
    await page.getByRole('button', { name: 'Cancel the task' }).click();
    await page.getByText('“not needed”. It does not run again unless it is requeued.').waitFor();
    await page.getByRole('button', { name: 'Requeue…' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('needed after all');
    await page.getByRole('button', { name: 'Requeue', exact: true }).click();
    await page.getByText('It runs again as').waitFor();
    const phone = await bench.tab('tasks/film-1', PHONE);
    await phone.getByRole('heading', { name: 'Requeued' }).waitFor();
    await bench.expectSound(phone, 'task-390-dark');
  });

  it('finds tasks by qualifiers, and requeues everything that matches after a dry run', async () => {
    for (let n = 0; n < 25; n++) {
      await bench.call('/v1/tasks', {
        task_id: `bill-${n}`,
        queue: 'bills',
        payload: n,
        key: n < 20 ? 'acme' : 'other',
      });
      if (n < 20) await bench.call(`/v1/tasks/bill-${n}/kill`, { reason: 'timeout' });
    }
    await bench.call('/v1/tasks/bill-0/requeue', {});
    const page = await bench.tab('now');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByLabel('Search tasks').fill('queue:bills state:broken');
    await page.keyboard.press('Enter');
    await page.getByText('state: is one of').waitFor();
    await page.getByLabel('Search tasks').fill('queue:bills reason:timeout key:acme');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Requeue…' }).click();
    await page.getByText('Completed tasks that match run again, too.').waitFor();
    await page.getByRole('button', { name: 'Keep as it is' }).click();
    await page.getByLabel('Search tasks').fill('queue:bills state:dead reason:timeout key:acme');
    await page.keyboard.press('Enter');
    await page.getByText('20 shown').waitFor();
    await bench.expectSound(page, 'tasks-1440-light');
    await page.getByRole('button', { name: 'Requeue…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('19 tasks would be requeued').waitFor();
    expect(await dialog.getByText('Completed tasks').count()).toBe(0);
    await dialog.getByRole('textbox').fill('the bank is back');
    await bench.expectSound(page, 'bulk-1440-light');
    await dialog.getByRole('button', { name: 'Requeue 19' }).click();
    await dialog.getByText('19 tasks were requeued.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    const { queues } = await bench.get('/v1/queues');
    expect(queues.find(({ queue }: { queue: string }) => queue === 'bills')).toMatchObject({
      dead: 20,
      waiting: 25,
    });
    const phone = await bench.tab('tasks?q=queue:bills', PHONE);
    await phone.getByText('45 shown').waitFor();
    await bench.expectSound(phone, 'tasks-390-dark');
  });
});

describe('a bulk action', () => {
  it('shows the hidden characters of what it acts on', async () => {
    await bench.call('/v1/tasks', { queue: ODD_NAME, payload: 1 });
    const page = await bench.tab(`queues/${encodeURIComponent(ODD_NAME)}`);
    await page.getByText('1 task waits for a worker.').waitFor();
    await page.getByRole('link', { name: 'Its tasks' }).click();
    await page.getByRole('button', { name: 'Kill…' }).click();
    await page.getByRole('dialog').getByText('⟨U+202E⟩').waitFor();
    await page.getByRole('dialog').getByText('1 task would be killed').waitFor();
  });
});

describe('Queues and workers', () => {
  it('show one queue with its workers and times, and pause it', async () => {
    const page = await bench.tab('queues/mail');
    await page.getByRole('heading', { name: 'Running' }).waitFor();
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('button', { name: 'Pause the queue' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Change limits…' }).click();
    await page.getByLabel('Running at once for each key').fill('2');
    await page.getByLabel('Starts', { exact: true }).fill('10');
    await page.getByLabel('per this many seconds').fill('0.5');
    await page.getByRole('button', { name: 'Set the limits' }).click();
    await page.getByText('At most 10 start in 500 ms.').waitFor();
    await page.getByText('At most 2 run at once for each key.').waitFor();
    await bench.expectSound(page, 'queue-1440-light');
    await page.getByRole('link', { name: 'Workers' }).click();
    await page.getByRole('row', { name: /w7/ }).getByRole('link', { name: 'w7' }).click();
    await page.getByRole('heading', { name: 'What it holds' }).waitFor();
    await bench.expectSound(page, 'worker-1440-light');
    await bench.expectSound(await bench.tab('queues/mail', PHONE), 'queue-390-dark');
  });
});

describe('Schedules', () => {
  it('can be made, fired and paused, and keep the text of their payload', async () => {
    const page = await bench.tab('schedules');
    await page.getByRole('button', { name: 'New…' }).click();
    await page.getByLabel('Name').fill('nightly');
    const fields = '{"cron":"61 3 * * *","queue":"reports","payload":{"n":9007199254740993123}}';
    await page.getByLabel('Fields, as JSON').fill(fields);
    await page.getByRole('button', { name: 'Save the schedule' }).click();
    await page.getByRole('alert').getByText('INVALID_ARGUMENT').waitFor();
    await page.getByLabel('Fields, as JSON').fill(fields.replace('61', '0'));
    await page.getByRole('button', { name: 'Save the schedule' }).click();
    await page.getByRole('rowheader', { name: 'nightly' }).getByRole('link').click();
    await page.getByText('"n": 9007199254740993123').waitFor();
    await page.getByRole('button', { name: 'Fire…' }).click();
    await page.getByRole('button', { name: 'Fire it' }).click();
    await page.getByRole('link', { name: /nightly!/ }).waitFor();
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('button', { name: 'Pause the schedule' }).click();
    await page.getByText('Paused: nothing is due').waitFor();
    await page.getByRole('button', { name: 'Edit…' }).click();
    const field = page.getByLabel('Fields, as JSON');
    expect(await field.evaluate((each) => each.scrollTop)).toBe(0);
    await page.getByRole('button', { name: 'Keep as it is' }).click();
    await bench.expectSound(page, 'schedule-1440-light');
    await bench.expectSound(await bench.tab('schedules', PHONE), 'schedules-390-dark');
  });
});

describe('Sessions', () => {
  it('are one line each, and can be started and stopped', async () => {
    const page = await bench.tab('sessions');
    await page.getByRole('button', { name: 'Start…' }).click();
    await page.getByLabel('serviceRef').fill('news');
    await page.getByLabel('profileID').fill('demo');
    await page.getByRole('button', { name: 'Start the session' }).click();
    await page.getByRole('row', { name: /live news as demo/ }).waitFor();
    await bench.expectSound(page, 'sessions-1440-light');
    await page
      .getByRole('row', { name: /live news/ })
      .getByRole('link')
      .click();
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByText('It has not started: it is cancelled at once.').waitFor();
    await page.getByRole('button', { name: 'Stop the session' }).click();
    await page.getByText('Stopped before it started').waitFor();
    await bench.expectSound(page, 'session-1440-light');
    await bench.expectSound(await bench.tab('sessions', PHONE), 'sessions-390-dark');
  });
});

describe('a session that was refused as busy', () => {
  it('links to the session in the way, also on its own page', async () => {
    const config = join(bench.dir, 'tuners.json');
    const profiles = { hd: { command: ['sleep', '600'] }, sd: { command: ['sleep', '600'] } };
    writeFileSync(config, JSON.stringify({ tuners: ['0', '1'], profiles }));
    const { url } = await bench.another(['--config', config], {}, 'up');
    const start = async (profileID: string): Promise<string> => {
      const body = JSON.stringify({ type: 'live', serviceRef: 'news', profileID });
      const headers = { 'content-type': 'application/json' };
      return (await (await fetch(`${url}/api/v3/intents`, { method: 'POST', headers, body })).json())
        .session_id;
    };
    const running = await start('hd');
    await until('the session', async () => {
      const { state } = await (await fetch(`${url}/api/v3/sessions/${running}`)).json();
      return state === 'READY';
    });
    const page = await bench.tab(`sessions/${await start('sd')}`, DESK, url);
    await page.getByText('Another session runs this service').waitFor();
    await page.getByRole('link', { name: running, exact: true }).click();
    await page.getByRole('heading', { level: 1, name: running }).waitFor();
  });
});

describe('Fences', () => {
  it('show refused writes as receipts: how late, under which number, and what the fence is', async () => {
    const { lh } = bench;
    const acquire = async () => {
      const reply = await lh.call('lease.acquire', { name: 'account', holder: 'writer', ttl_ms: 600_000 });
      if (!reply.ok) throw new Error(reply.code);
      return reply.lease_seq;
    };
    const old = await acquire();
    const fresh = await acquire();
    await lh.call('object.write', {
      object_id: 'account',
      value: { balance: 1 },
      lease: { lease_seq: fresh },
    });
    await lh.call('object.write', { object_id: 'account', value: { balance: 2 }, lease: { lease_seq: old } });
    const page = await bench.tab('fences');
    await page.getByText(`Under ${old}; the fence is ${fresh}.`).waitFor();
    await bench.expectSound(page, 'fences-1440-light');
    await page.getByRole('rowheader', { name: 'account' }).getByRole('link').click();
    await page.getByText(new RegExp(`Arrived .* late, under ${old}; the fence is ${fresh}\\.`)).waitFor();
    await page.getByText(`held by writer under ${fresh}`).waitFor();
    await bench.expectSound(page, 'fence-1440-light');
    await bench.expectSound(await bench.tab('fences', PHONE), 'fences-390-dark');
  });
});

describe('Log', () => {
  it('shows entries as they become durable, by type, and from a position on', async () => {
    const page = await bench.tab('log?types=QueuePaused,QueueResumed');
    await page.getByText('QueuePaused').first().waitFor();
    await bench.call('/v1/queues/log-test/pause', {});
    await page.getByRole('listitem').filter({ hasText: 'log-test' }).waitFor();
    expect(await page.getByText('TaskCreated').count()).toBe(0);
    await bench.expectSound(page, 'log-1440-light');
    await page.getByLabel('From seq').fill('1');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'everything' }).click();
    await page.getByText('EpochStarted').first().waitFor();
    await bench.expectSound(await bench.tab('log', PHONE), 'log-390-dark');
  });
});

describe('a log whose beginning was compacted', () => {
  it('is shown from where it begins', async () => {
    const data = mkdtempSync(join(bench.dir, 'compacted-'));
    const golden = new URL('../golden/v5-compacted.json', import.meta.url);
    const { files } = JSON.parse(readFileSync(golden, 'utf8')) as { files: Record<string, string> };
    for (const [file, packed] of Object.entries(files)) {
      writeFileSync(join(data, file), gunzipSync(Buffer.from(packed, 'base64')));
    }
    const { url } = await bench.another(['--data', data]);
    const { first_seq: firstSeq } = await (await fetch(`${url}/v1/status`)).json();
    expect(firstSeq).toBeGreaterThan(1);
    const page = await bench.tab('log', DESK, url);
    await page.getByText('ScheduleFired').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
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
