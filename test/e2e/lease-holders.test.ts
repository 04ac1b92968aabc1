// Holders in their own processes, over real sockets: blocked past their deadline, paused past it, cut off, restarted.
// In each case another holder may take over, the stale write is refused, and the holder learns it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect as openSocket, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, type Served, startServed, stopAllServed } from '../support/served.ts';

const CHILD = fileURLToPath(new URL('./lease-holders-child.mjs', import.meta.url));
const NAME = 'report';
const TTL_MS = 2_000;
/** Long enough for a lease to run out, however busy this machine is. */
const PATIENCE_MS = 30_000;

type Word = Readonly<Record<string, unknown>>;

let served: Served;
const started = new Set<Holder>();
const passages = new Set<Passage>();

beforeEach(async () => {
  served = await startServed();
});

afterEach(async () => {
  await Promise.all([...started].map((holder) => holder.end()));
  for (const passage of passages) passage.close();
  started.clear();
  passages.clear();
  await stopAllServed();
});

interface HolderOptions {
  readonly url?: string;
  readonly holder?: string;
  readonly ttl?: number;
  readonly guards?: boolean;
}

/** A child that holds the lease. */
class Holder {
  readonly process: ChildProcess;
  /** The exit code and the signal, and when that was. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; atMs: number }>;
  said = '';
  private readonly words: Word[] = [];
  private heard = (): void => undefined;

  constructor({ url = served.url, ttl = TTL_MS, ...options }: HolderOptions = {}) {
    const argument = JSON.stringify({ url, name: NAME, ttl, ...options });
    this.process = spawn(process.execPath, [CHILD, argument], { stdio: 'pipe' });
    this.process.stderr!.on('data', (text: Buffer) => {
      this.said += text.toString();
    });
    createInterface({ input: this.process.stdout! }).on('line', (line) => {
      this.words.push(JSON.parse(line) as Word);
      this.heard();
    });
    // Its last words may be read only after its end is known.
    const silent = once(this.process, 'close');
    this.ended = once(this.process, 'exit').then(async ([code, signal]) => {
      const atMs = Date.now();
      await silent;
      this.heard();
      return { code, signal, atMs };
    });
    started.add(this);
  }

  tell(...order: readonly unknown[]): void {
    this.process.stdin!.write(`${JSON.stringify(order)}\n`);
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** The next thing it says of this kind. */
  async word(is: string): Promise<Word> {
    for (;;) {
      const index = this.words.findIndex((word) => word.is === is);
      if (index >= 0) return this.words.splice(index, 1)[0]!;
      if (this.process.exitCode !== null || this.process.signalCode !== null) {
        throw new Error(`The holder ended without saying "${is}": ${this.said}`);
      }
      await new Promise<void>((resolve) => {
        this.heard = resolve;
      });
    }
  }

  async end(): Promise<void> {
    this.kill('SIGKILL');
    await this.ended;
  }
}

async function holding(options?: HolderOptions): Promise<{ holder: Holder; leaseSeq: number }> {
  const holder = new Holder(options);
  const { leaseSeq } = await holder.word('held');
  return { holder, leaseSeq: leaseSeq as number };
}

/** When the last grant ends or ended. The question may come late, and an expired lease is no longer listed. */
async function endOfLease(): Promise<number> {
  const { entries } = await served.done('lease.history', { name: NAME });
  const last = entries.findLast(({ expires_at: at }: Body) => typeof at === 'string');
  return Date.parse(last.expires_at);
}

/** Waits in line for the lease, as the next one would. */
async function takeOver(): Promise<number> {
  const body = { name: NAME, holder: 'the next one', ttl_ms: 60_000, wait_ms: PATIENCE_MS };
  const taken = await served.call('lease.acquire', body);
  expect(taken.status).toBe(200);
  return taken.body.lease_seq;
}

/** A way to the server that can be cut. */
class Passage {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private isCut = false;
  url = '';

  constructor() {
    const { hostname, port } = new URL(served.url);
    this.server = createServer((near) => {
      if (this.isCut) {
        near.destroy();
        return;
      }
      const far = openSocket(Number(port), hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    passages.add(this);
  }

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('The passage has no port.');
    this.url = `http://127.0.0.1:${address.port}`;
    return this.url;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  close(): void {
    this.cut();
    this.server.close();
  }
}

describe('a holder whose event loop is blocked past its time', () => {
  it('finds out at once, may not write, and could not', async () => {
    const { holder, leaseSeq } = await holding();
    const next = takeOver();
    holder.tell('block', 2 * TTL_MS);
    expect(await next).toBeGreaterThan(leaseSeq);
    expect(await holder.word('not held')).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'expired' } });
    expect(await holder.word('lost')).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'expired' } });
    holder.tell('write', 'late');
    expect(await holder.word('wrote')).toMatchObject({
      byHandle: { code: 'LEASE_LOST' },
      past: { code: 'WRITE_STALE_FENCE' },
    });
  });
});

describe('a holder that is paused past its time', () => {
  it('is told when it wakes up, may not write, and could not', async () => {
    const { holder, leaseSeq } = await holding();
    holder.kill('SIGSTOP');
    expect(await takeOver()).toBeGreaterThan(leaseSeq);
    holder.kill('SIGCONT');
    expect(await holder.word('lost')).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'expired' } });
    holder.tell('write', 'late');
    expect(await holder.word('wrote')).toMatchObject({
      byHandle: { code: 'LEASE_LOST' },
      past: { code: 'WRITE_STALE_FENCE' },
    });
  });
});

describe('a holder that is cut off from the server', () => {
  it('is told before its lease ends, may not write, and could not once it is back', async () => {
    const passage = new Passage();
    const { holder, leaseSeq } = await holding({ url: await passage.listen(), ttl: 5_000 });
    passage.cut();
    const next = takeOver();
    const first = await Promise.race([holder.word('lost'), next.then(() => 'another took over')]);
    expect(first).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'unreachable' } });
    expect(await next).toBeGreaterThan(leaseSeq);
    passage.mend();
    holder.tell('write', 'late');
    expect(await holder.word('wrote')).toMatchObject({
      byHandle: { code: 'LEASE_LOST' },
      past: { code: 'WRITE_STALE_FENCE' },
    });
  });
});

describe('a holder that is restarted under the same name', () => {
  it('gets the lease at once, and what is left of the first one is told and fenced out', async () => {
    const { holder: first, leaseSeq } = await holding({ holder: 'service-1', ttl: 3 * TTL_MS });
    const { holder: second, leaseSeq: newer } = await holding({ holder: 'service-1' });
    expect(newer).toBeGreaterThan(leaseSeq);
    expect(await first.word('lost')).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'superseded' } });
    first.tell('write', 'late');
    expect(await first.word('wrote')).toMatchObject({
      byHandle: { code: 'LEASE_LOST' },
      past: { code: 'WRITE_STALE_FENCE' },
    });
    second.tell('write', 'in time');
    expect(await second.word('wrote')).toMatchObject({ byHandle: { version: 1 }, past: { version: 2 } });
  });
});

describe('a guard', () => {
  it('lets no second process of its kind start, and names the first', async () => {
    await holding({ guards: true, holder: 'the first', ttl: 60_000 });
    const second = new Holder({ guards: true });
    expect(await second.word('refused')).toMatchObject({
      code: 'LEASE_HELD',
      message: expect.stringContaining('the first'),
    });
    expect(await second.ended).toMatchObject({ code: 0 });
  });

  it('kills a process whose event loop is blocked, before the lease ends', async () => {
    const { holder } = await holding({ guards: true, ttl: 4_000 });
    holder.tell('block', PATIENCE_MS);
    const { signal, atMs } = await holder.ended;
    expect(signal).toBe('SIGKILL');
    expect(holder.said).toContain(`the guard "${NAME}" ran out while the event loop was blocked`);
    expect(atMs).toBeLessThan(await endOfLease());
  });

  it('kills a process that was paused past its time before it can do anything else', async () => {
    const { holder } = await holding({ guards: true });
    holder.kill('SIGSTOP');
    await takeOver();
    holder.tell('write', 'late');
    holder.kill('SIGCONT');
    const { code, signal } = await holder.ended;
    // Either the thread or the main loop comes first; both end it.
    expect([code, signal]).toEqual(signal === null ? [4, null] : [null, 'SIGKILL']);
    expect((await served.call('object.get', { object_id: NAME })).status).toBe(404);
  });

  it('ends its process with code 4 when a renewal does not get through', async () => {
    const passage = new Passage();
    const { holder } = await holding({ url: await passage.listen(), guards: true, ttl: 9_000 });
    passage.cut();
    const { code, atMs } = await holder.ended;
    expect(code).toBe(4);
    expect(holder.said).toContain('could not be renewed in time');
    expect(atMs).toBeLessThan(await endOfLease());
  });
});
