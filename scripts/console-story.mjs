// A server with something on it, for looking at the console: queues with workers, losses and late results, limits, schedules,
// sessions with their pipelines, leases with waiters and a past, fenced objects with refused writes, and names made to break a page.
// Everything is a real server, a real orchestrator and real clients; `tellStory` returns while they go on, until `end`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '../dist/client-node.js';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const PROFILES = {
  tuners: ['0', '1', '2', '3'],
  profiles: {
    hd: { command: ['sleep', '{start_ms}600'] },
    broken: { command: ['sh', '-c', 'exit 3'] },
  },
};
/** Markup, quotes, a shell's substitution, and a mark that reverses what follows. */
export const ODD_NAME = '<script>alert(1)</script>"\'$(id)\u202eexe';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts the server; `args` are further options of `leasehold up`. */
export async function tellStory(args = []) {
  const dir = mkdtempSync(join(tmpdir(), 'leasehold-story-'));
  const config = join(dir, 'tuners.json');
  writeFileSync(config, JSON.stringify(PROFILES));
  const up = ['up', '--data', join(dir, 'data'), '--listen', '127.0.0.1:0', '--config', config, '--json'];
  const child = spawn(process.execPath, [MAIN, ...up, '--log-level', 'error', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const url = await new Promise((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (bytes) => {
      said += bytes;
      const found = /"url":"([^"]+)"/.exec(said);
      if (found !== null) resolve(found[1]);
    });
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
  });
  const story = new Story(connect(url), url);
  return {
    url,
    /** Nothing is new after this, except what goes on by itself. */
    told: story.tell(),
    async end() {
      await story.end();
      child.kill('SIGTERM');
      await exited;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

class Story {
  #lh;
  #url;
  #isOver = false;
  #going = [];

  constructor(lh, url) {
    this.#lh = lh;
    this.#url = url;
  }

  async tell() {
    await this.#limits();
    await this.#schedules();
    await Promise.all([
      this.#mail(),
      this.#invoices(),
      this.#transcode(),
      this.#search(),
      this.#others(),
      this.#ledger(),
      this.#pools(),
      this.#sessions(),
    ]);
  }

  async end() {
    this.#isOver = true;
    await this.#lh.close();
    await Promise.allSettled(this.#going);
  }

  /** A call that must succeed; `refused` names the one refusal that may come instead. */
  async #call(operation, request, refused = null) {
    const reply = await this.#lh.call(operation, request);
    if (!reply.ok && reply.code !== refused) throw new Error(`${operation}: ${reply.code} ${reply.detail}`);
    return reply;
  }

  #goOn(work) {
    this.#going.push(
      work().catch((fault) => {
        if (!this.#isOver) throw fault;
      }),
    );
  }

  async #create(queue, count, request) {
    const ops = Array.from({ length: count }, (_, n) => ({ queue, ...request(n) }));
    for (const op of ops) await this.#call('task.create', op);
  }

  /** Leases one task after the other and completes each after `workMs`. */
  #worker(workerId, queue, workMs) {
    this.#goOn(async () => {
      while (!this.#isOver) {
        const { leases } = await this.#call('task.lease', {
          worker_id: workerId,
          queues: [queue],
          ttl_ms: 60_000,
          wait_ms: 1_000,
        });
        for (const { task_id: taskId, lease_id: leaseId } of leases) {
          await sleep(workMs * (0.6 + Math.random() * 0.8));
          await this.#call('task.complete', { task_id: taskId, lease_id: leaseId, result: { sent: true } });
        }
      }
    });
  }

  async #limits() {
    await this.#call('queue.limit', {
      queue: 'invoices',
      max_leased_per_key: 1,
      rate: { count: 60, per_ms: 60_000 },
    });
    await this.#call('queue.limit', { queue: 'transcode', max_leased: 4 });
  }

  async #schedules() {
    const put = (name, request) => this.#call('schedule.put', { name, ...request });
    await put('nightly-report', {
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      queue: 'reports',
      payload: { report: 'sales', format: 'pdf' },
    });
    await put('bill-customers', {
      cron: '0 9 1 * *',
      queue: 'invoices',
      payload: { run: 'monthly' },
      key: 'all',
    });
    await put('poll-feeds', { every_ms: 5_000, queue: 'mail', payload: { feeds: 'all' } });
    await put('clean-thumbnails', { cron: '*/15 * * * *', queue: 'thumbnails', payload: {}, paused: true });
  }

  async #mail() {
    for (const id of ['mail-1', 'mail-2', 'mail-3']) this.#worker(id, 'mail', 220);
    await this.#create('mail', 30, (n) => ({ task_id: `digest-${n}`, payload: { n }, delay_ms: 3_600_000 }));
    const welcome = (n) => ({
      task_id: `welcome-${1_000 + n}`,
      payload: { to: `user-${n}@example.com`, template: 'welcome' },
    });
    await this.#create('mail', 300, welcome);
    this.#goOn(async () => {
      for (let n = 300; !this.#isOver; n++) {
        await this.#create('mail', 1, () => welcome(n));
        await sleep(70 + 60 * Math.sin(n / 40));
      }
    });
  }

  async #invoices() {
    this.#worker('bill-1', 'invoices', 900);
    this.#worker('bill-2', 'invoices', 900);
    await this.#create('invoices', 150, (n) => ({
      task_id: `invoice-2026-${String(n + 1).padStart(3, '0')}`,
      key: ['acme', 'globex', 'initech'][n % 3],
      payload: { customer: ['acme', 'globex', 'initech'][n % 3], cents: 1_900 + n * 250 },
    }));
  }

  /** Three leases lost by one worker, one of whose results comes too late; one task that kills its workers. */
  async #transcode() {
    const lease = (workerId, ttlMs, max = 1) =>
      this.#call('task.lease', {
        worker_id: workerId,
        queues: ['transcode'],
        ttl_ms: ttlMs,
        max,
        wait_ms: 8_000,
      });
    await this.#create('transcode', 3, (n) => ({
      task_id: `film-${n + 1}`,
      priority: 5,
      payload: { source: `s3://films/${n + 1}.mov`, profile: 'h264-1080p', segments: 240 },
    }));
    const lost = (await lease('w7', 2_500, 3)).leases;
    await sleep(900);
    const [first] = lost;
    await this.#call('task.checkpoint', {
      task_id: first.task_id,
      lease_id: first.lease_id,
      value: { segment: 41 },
    });
    await sleep(700);
    await this.#call('task.extend', { task_id: first.task_id, lease_id: first.lease_id, ttl_ms: 2_500 });
    await sleep(3_200);
    const again = (await lease('w5', 20_000, 3)).leases;
    await sleep(600);
    await this.#call('task.complete', {
      task_id: first.task_id,
      lease_id: first.lease_id,
      result: { segments: 240 },
    });
    for (const { task_id: taskId, lease_id: leaseId } of again) {
      if (taskId === 'film-1') {
        this.#goOn(async () => {
          for (let segment = 60; !this.#isOver; segment += 20) {
            await this.#call('task.checkpoint', { task_id: taskId, lease_id: leaseId, value: { segment } });
            await this.#call('task.extend', { task_id: taskId, lease_id: leaseId, ttl_ms: 20_000 });
            await sleep(2_000);
          }
        });
      } else
        await this.#call('task.complete', { task_id: taskId, lease_id: leaseId, result: { segments: 240 } });
    }
    await this.#create('transcode', 1, () => ({
      task_id: 'film-corrupt',
      payload: { source: 's3://films/9.mov' },
      max_attempts: 2,
    }));
    for (let attempt = 0; attempt < 2; attempt++) {
      await lease('w7', 300);
      await sleep(500);
    }
    await this.#create('transcode', 6, (n) => ({
      task_id: `clip-${n + 1}`,
      payload: { source: `s3://clips/${n + 1}.mov` },
    }));
    this.#worker('w5', 'transcode', 25_000);
    this.#worker('w6', 'transcode', 25_000);
  }

  /** Tasks that fail for good, one of them requeued twice. */
  async #search() {
    await this.#create('search-index', 6, (n) => ({
      task_id: `index-${n + 1}`,
      key: 'catalogue',
      payload: { shard: n },
      retry: { max_failures: 1 },
    }));
    const { leases } = await this.#call('task.lease', {
      worker_id: 'indexer-1',
      queues: ['search-index'],
      max: 6,
    });
    for (const { task_id: taskId, lease_id: leaseId } of leases) {
      await this.#call('task.fail', {
        task_id: taskId,
        lease_id: leaseId,
        reason: 'connect ECONNREFUSED search-2:9200',
      });
    }
    let id = 'index-1';
    for (let n = 0; n < 2; n++) {
      const requeued = await this.#call('task.requeue', {
        task_id: id,
        reason: 'search-2 is back',
        priority: 9,
      });
      id = requeued.task_id;
      const { leases: mine } = await this.#call('task.lease', {
        worker_id: 'indexer-1',
        queues: ['search-index'],
        wait_ms: 1_000,
      });
      for (const { task_id: taskId, lease_id: leaseId } of mine) {
        if (n === 0)
          await this.#call('task.fail', {
            task_id: taskId,
            lease_id: leaseId,
            reason: 'mapping conflict in field price',
          });
        else
          await this.#call('task.complete', {
            task_id: taskId,
            lease_id: leaseId,
            result: { documents: 48_210 },
          });
      }
    }
  }

  async #others() {
    await this.#create('thumbnails', 41, (n) => ({ task_id: `thumb-${n}`, payload: { image: n } }));
    await this.#call('queue.pause', { queue: 'thumbnails' });
    await this.#create('reports', 1, () => ({ task_id: 'report-monday', payload: { report: 'week' } }));
    const { leases } = await this.#call('task.lease', { worker_id: 'reporter', queues: ['reports'] });
    for (const { task_id: taskId, lease_id: leaseId } of leases) {
      await this.#call('task.complete', { task_id: taskId, lease_id: leaseId, result: { pages: 12 } });
    }
    await this.#create('reports', 3, (n) => ({ task_id: `report-${n}`, payload: { report: n } }));
    await this.#create(ODD_NAME, 1, () => ({
      task_id: 'odd-"$(reboot)"\u200b',
      key: '<b>key</b>',
      payload: ODD_NAME,
    }));
    await this.#create('archive', 1, () => ({
      task_id: 'archive-2025',
      delay_ms: 3_600_000,
      payload: {
        files: Array.from({ length: 120 }, (_, n) => `2025/${n}.tar`),
        bytes: 9_007_199_254_740_991,
      },
    }));
  }

  /** A name that changed hands in every way there is, with a line before it. */
  async #ledger() {
    const acquire = (name, holder, ttlMs) => this.#call('lease.acquire', { name, holder, ttl_ms: ttlMs });
    const write = (name, leaseSeq, value, refused = null) =>
      this.#call('object.write', { object_id: name, value, lease: { lease_seq: leaseSeq } }, refused);
    const first = await acquire('ledger:eu', 'writer-eu-1', 2_000);
    await write('ledger:eu', first.lease_seq, { balance: 120_050, currency: 'EUR' });
    for (let n = 0; n < 4; n++) {
      await sleep(500);
      await this.#call('lease.renew', {
        name: 'ledger:eu',
        holder: 'writer-eu-1',
        token: first.token,
        ttl_ms: 2_000,
      });
    }
    await sleep(2_600);
    const second = await acquire('ledger:eu', 'writer-eu-2', 60_000);
    await write('ledger:eu', second.lease_seq, { balance: 119_300, currency: 'EUR' });
    await write('ledger:eu', first.lease_seq, { balance: 120_400, currency: 'EUR' }, 'WRITE_STALE_FENCE');
    await sleep(1_500);
    await this.#call('lease.break', {
      name: 'ledger:eu',
      reason: 'writer-eu-2 hangs in a garbage collection',
      lease_seq: second.lease_seq,
    });
    await sleep(400);
    const third = await this.#lh.acquire('ledger:eu', { holder: 'writer-eu-3', ttl: '4s' });
    await third.write({ balance: 118_975, currency: 'EUR' });
    await write('ledger:eu', second.lease_seq, { balance: 119_000, currency: 'EUR' }, 'WRITE_STALE_FENCE');
    const other = await this.#lh.acquire('ledger:us', {
      holder: 'writer-us-1',
      ttl: '8s',
      metadata: { host: 'db-3', pid: 4127 },
    });
    await other.write({ balance: 88_100, currency: 'USD' });
    await write('ledger:us', other.leaseSeq + 1_000, {}, 'WRITE_UNKNOWN_FENCE');
    await this.#call('object.write', { object_id: 'ledger:us', value: {} }, 'WRITE_UNFENCED');
    for (const holder of ['writer-eu-4', 'auditor']) {
      this.#goOn(() => this.#lh.acquire('ledger:eu', { holder, ttl: '30s', wait: '10m' }));
    }
    this.#goOn(() =>
      this.#lh.acquireAll(['ledger:eu', 'ledger:us'], { holder: 'year-end', ttl: '30s', wait: '10m' }),
    );
  }

  async #pools() {
    for (const slot of [0, 1, 2, 4, 7]) {
      await this.#lh.acquire(`gpu:${slot}`, {
        holder: `trainer-${'abcdefgh'[slot]}`,
        ttl: ['15s', '30s', '60s'][slot % 3],
      });
    }
    for (const name of ['api', 'web', 'worker']) {
      await this.#lh.acquire(`deploy:${name}`, {
        holder: 'ci-8841',
        ttl: '30s',
        metadata: { commit: '9f3c2e1', by: 'ada' },
      });
    }
    await this.#call('lease.acquire', { name: 'migration', holder: 'release-42', ttl_ms: 900_000 });
    await this.#call('lease.acquire', { name: ODD_NAME, holder: 'h\u200b$(x)', ttl_ms: 600_000 });
    await this.#call('lease.acquire', { name: 'cache-warmer', holder: 'edge-9', ttl_ms: 3_000 });
  }

  async #sessions() {
    const start = (request) =>
      fetch(`${this.#url}/api/v3/intents`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      }).then((response) => response.json());
    await start({ type: 'live', serviceRef: 'news', profileID: 'hd' });
    await start({ type: 'live', serviceRef: 'sport', profileID: 'hd' });
    await sleep(1_500);
    await start({ type: 'live', serviceRef: 'news', profileID: 'broken' });
    await start({ type: 'live', serviceRef: 'weather', profileID: 'broken' });
    const { session_id: stopped } = await start({
      type: 'vod',
      recordingID: 'match-final',
      profileID: 'hd',
      start_ms: 65_000,
    });
    await sleep(2_000);
    await this.#call('session.stop', { session_id: stopped });
    await start({ type: 'vod', recordingID: 'match-final', profileID: 'hd', start_ms: 0 });
  }
}
