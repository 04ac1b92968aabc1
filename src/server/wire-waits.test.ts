// Long polls over real sockets: answered when something comes, first come, first served; a connection that has gone
// never costs a client a grant.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import {
  type RawConnection,
  requestOf,
  type Served,
  startServed,
  stopAllServed,
} from '../../test/support/served.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { countAll } from '../authority/reads.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import type { Operation } from '../operations/table.ts';
import type { OpenFile, OpenMode } from '../seams/files.ts';

let served: Served;
let disk: MemoryDisk;

beforeEach(async () => {
  disk = new MemoryDisk();
  served = await startServed({ engine: memoryEngine(disk) });
});
afterEach(stopAllServed);

const TOKEN = 'a-token-of-16-bytes';
const WAIT = { wait_ms: 60_000 };

const waiters = (): Promise<number> => served.authority.read((machine) => countAll(machine).waiters);
const untilWaiting = (count: number): Promise<void> => served.until(async () => (await waiters()) === count);

async function gauge(name: string): Promise<number> {
  const { text } = await served.send('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Sends an operation on a connection of its own, without waiting for its answer. */
async function begin(operation: Operation, fields: object, options = {}): Promise<RawConnection> {
  const connection = await served.connect(options);
  connection.write(bytesOf(operation, fields));
  return connection;
}

function bytesOf(operation: Operation, fields: object): string {
  const { method, path, body = '' } = requestOf(operation, fields);
  const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`;
}

const held = (name: string) =>
  served.done('lease.acquire', { name, holder: 'first', ttl_ms: 600_000, token: TOKEN });
const letGo = (name: string) => served.done('lease.release', { name, holder: 'first', token: TOKEN });

describe('a call that waits', () => {
  it('does not keep its body in memory, however long that was', async () => {
    const space = ' '.repeat(1_000_000);
    const body = `{"worker_id":"w","wait_ms":60000${space}}`;
    const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const poll = async (): Promise<void> => {
      (await served.connect()).write(`POST /v1/tasks/lease HTTP/1.1\r\n${head}\r\n${body}`);
    };
    await poll();
    await untilWaiting(1);
    const before = bytesInUse();
    for (let count = 2; count <= 50; count++) {
      await poll();
      await untilWaiting(count);
    }
    expect(bytesInUse() - before).toBeLessThan(15_000_000);
  });

  it('for a task is answered as soon as there is one', async () => {
    const poll = served.call('task.lease', { worker_id: 'w', queues: ['a', 'b'], ...WAIT });
    await untilWaiting(1);
    const { task_id } = await served.done('task.create', { payload: { n: 1 }, queue: 'b' });
    const { leases } = (await poll).body;
    expect(leases).toMatchObject([{ task_id, queue: 'b', payload: { n: 1 }, attempt: 1 }]);
    expect(await waiters()).toBe(0);
  });

  it('for a task is answered with nothing when nothing came in time', async () => {
    const { status, body } = await served.call('task.lease', { worker_id: 'w', wait_ms: 30 });
    expect([status, body.leases]).toEqual([200, []]);
  });

  it('for a name is granted when it is free', async () => {
    await held('n');
    const poll = served.call('lease.acquire', { name: 'n', holder: 'next', ttl_ms: 60_000, ...WAIT });
    await untilWaiting(1);
    await letGo('n');
    expect((await poll).body).toMatchObject({ name: 'n', holder: 'next' });
  });

  it('for a name is refused when its time is over', async () => {
    await held('n');
    const { status, body } = await served.call('lease.acquire', {
      name: 'n',
      holder: 'x',
      ttl_ms: 1_000,
      wait_ms: 30,
    });
    expect([status, body.code, body.holder]).toEqual([409, 'LEASE_HELD', 'first']);
    expect(await waiters()).toBe(0);
  });

  it('is answered before the rubbish that came behind it, and all of that is answered once', async () => {
    await held('n');
    const connection = await begin('lease.acquire', { name: 'n', holder: 'next', ttl_ms: 60_000, ...WAIT });
    await untilWaiting(1);
    for (let piece = 0; piece < 3; piece++) {
      connection.write('rubbish\r\n\r\n');
      await served.until(async () => (await gauge('leasehold_http_early_refusals_total')) > 0);
    }
    expect(await gauge('leasehold_http_early_refusals_total')).toBe(1);
    await letGo('n');
    expect((await connection.answer()).status).toBe(200);
    expect((await connection.answer()).status).toBe(400);
    await connection.closed;
  });

  it('ends with its connection, although rubbish came behind it', async () => {
    await held('n');
    const connection = await begin('lease.acquire', { name: 'n', holder: 'next', ttl_ms: 60_000, ...WAIT });
    await untilWaiting(1);
    connection.write('rubbish\r\n\r\n');
    await served.until(async () => (await gauge('leasehold_http_early_refusals_total')) > 0);
    connection.socket.end();
    await untilWaiting(0);
    await connection.closed;
  });

  it('for several names is granted when all of them are free', async () => {
    await held('a');
    await held('b');
    const poll = served.call('lease.acquire_all', {
      names: ['a', 'b', 'c'],
      holder: 'next',
      ttl_ms: 60_000,
      ...WAIT,
    });
    await untilWaiting(1);
    await letGo('a');
    expect(await waiters()).toBe(1);
    await letGo('b');
    expect((await poll).body.leases).toHaveLength(3);
  });

  it('for the end of a task is answered with the task as it ended', async () => {
    const { task_id } = await served.done('task.create', { payload: 1 });
    const { leases } = await served.done('task.lease', { worker_id: 'w' });
    const polls = [1, 2, 3].map(() => served.call('task.get', { task_id, ...WAIT }));
    await served.done('task.complete', { task_id, lease_id: leases[0].lease_id, result: { sent: true } });
    for (const { body } of await Promise.all(polls))
      expect(body).toMatchObject({ state: 'COMPLETED', result: { sent: true } });
    expect((await served.done('task.get', { task_id, ...WAIT })).state).toBe('COMPLETED');
  });

  it('for the end of a task is answered with the task as it is when its time is over', async () => {
    const { task_id } = await served.done('task.create', { payload: 1 });
    expect((await served.done('task.get', { task_id, wait_ms: 30 })).state).toBe('WAITING');
    expect((await served.call('task.get', { task_id: 'no-such-task', ...WAIT })).body.code).toBe(
      'TASK_NOT_FOUND',
    );
  });

  it('that waits for nothing is answered at once', async () => {
    expect((await served.done('task.lease', { worker_id: 'w', wait_ms: 0 })).leases).toEqual([]);
  });

  it('may not wait for longer than ten minutes', async () => {
    expect((await served.call('task.lease', { worker_id: 'w', wait_ms: 600_001 })).body.code).toBe(
      'INVALID_ARGUMENT',
    );
  });
});

describe('a waiter whose connection has gone', () => {
  const POLLS: readonly (readonly [Operation, object])[] = [
    ['task.lease', { worker_id: 'gone', ...WAIT }],
    ['lease.acquire', { name: 'n', holder: 'gone', ttl_ms: 60_000, ...WAIT }],
    ['lease.acquire_all', { names: ['m', 'n'], holder: 'gone', ttl_ms: 60_000, ...WAIT }],
  ];

  it.each(POLLS)('leaves its line: %s', async (operation, fields) => {
    await held('n');
    const gone = await begin(operation, fields);
    await untilWaiting(1);
    gone.destroy();
    await untilWaiting(0);
  });

  it.each(POLLS)('leaves its line when it has only said that it goes: %s', async (operation, fields) => {
    await held('n');
    const gone = await begin(operation, fields, { allowHalfOpen: true });
    await untilWaiting(1);
    gone.socket.end();
    await untilWaiting(0);
  });

  it('leaves its line when rubbish was the last thing it said', async () => {
    const gone = await begin('task.lease', { worker_id: 'gone', ...WAIT });
    await untilWaiting(1);
    gone.write('rubbish\r\n\r\n');
    gone.destroy();
    await untilWaiting(0);
  });

  it('takes all with it that was asked on the same connection', async () => {
    const gone = await served.connect();
    gone.write(
      Array.from({ length: 20 }, (_, n) => bytesOf('task.lease', { worker_id: `w${n}`, ...WAIT })).join(''),
    );
    // One request of a connection at a time: the others are held.
    await untilWaiting(1);
    gone.destroy();
    await untilWaiting(0);
    // The look itself is one.
    await served.until(async () => (await gauge('leasehold_http_requests_in_flight')) === 1);
    expect(await gauge('leasehold_http_waits')).toBe(0);
  });

  it('does not keep the task it was not there to take', async () => {
    const gone = await begin('task.lease', { worker_id: 'gone', ...WAIT });
    await untilWaiting(1);
    const poll = served.call('task.lease', { worker_id: 'here', ...WAIT });
    await untilWaiting(2);
    gone.destroy();
    await served.done('task.create', { payload: 1 });
    expect((await poll).body.leases).toHaveLength(1);
  });

  it('keeps no caller waiting for the end of a task', async () => {
    const { task_id } = await served.done('task.create', { payload: 1 });
    const gone = await begin('task.get', { task_id, ...WAIT });
    await served.until(async () => (await gauge('leasehold_http_waits')) === 1);
    gone.destroy();
    await served.until(async () => (await gauge('leasehold_http_waits')) === 0);
    await served.done('task.kill', { task_id, reason: 'over' });
    expect(served.troubles).toEqual([]);
  });
});

describe('a grant whose reply finds the connection closed', () => {
  /** Appends wait until they are let go. */
  function holdAppends(): { readonly isHeld: () => boolean; readonly go: () => void } {
    let go = (): void => undefined;
    let appends = 0;
    const released = new Promise<void>((resolve) => {
      go = resolve;
    });
    disk.sync = () => {
      appends += 1;
      return released;
    };
    return { isHeld: () => appends > 0, go };
  }

  /** The server has noticed what the clients have done to their connections: it has read them once more since. */
  const noticed = async () => {
    for (let times = 0; times < 3; times++) await served.send('GET', '/healthz');
  };

  const BATCH = {
    ops: [
      { op: 'task.lease', worker_id: 'gone' },
      { op: 'lease.acquire', name: 'n', holder: 'gone', ttl_ms: 600_000 },
    ],
  };

  it.each(['destroyed', 'ended'])('is given back at once: a connection that was %s', async (how) => {
    await served.done('task.create', { payload: 1, task_id: 't' });
    const { isHeld, go } = holdAppends();
    const other = served.done('task.create', { payload: 1, queue: 'other' });
    await served.until(isHeld);
    const gone = [
      await begin('task.lease', { worker_id: 'gone', ttl_ms: 600_000 }, { allowHalfOpen: true }),
      await begin('lease.acquire', { name: 'n', holder: 'gone', ttl_ms: 600_000 }, { allowHalfOpen: true }),
      await begin(
        'lease.acquire_all',
        { names: ['a', 'b'], holder: 'gone', ttl_ms: 600_000 },
        { allowHalfOpen: true },
      ),
    ];
    await served.until(() => served.authority.waiting === 3);
    for (const { socket } of gone) how === 'destroyed' ? socket.destroy() : socket.end();
    await noticed();
    go();
    await other;
    const free = { holder: 'next', ttl_ms: 60_000, ...WAIT };
    expect((await served.done('lease.acquire', { name: 'n', ...free })).holder).toBe('next');
    expect((await served.done('lease.acquire_all', { names: ['a', 'b'], ...free })).leases).toHaveLength(2);
    const { leases } = await served.done('task.lease', { worker_id: 'next', ...WAIT });
    expect(leases).toMatchObject([{ task_id: 't', attempt: 2 }]);
    const { leases: all } = await served.done('task.get', { task_id: 't' });
    expect(all.map(({ end }: { end: string }) => end).sort()).toEqual(['live', 'release']);
  });

  it('is given back at once out of a batch too', async () => {
    await served.done('task.create', { payload: 1, task_id: 't' });
    const { isHeld, go } = holdAppends();
    const gone = await served.connect();
    const body = JSON.stringify(BATCH);
    gone.write(
      `POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await served.until(isHeld);
    gone.destroy();
    await noticed();
    go();
    const free = { holder: 'next', ttl_ms: 60_000, ...WAIT };
    expect((await served.done('lease.acquire', { name: 'n', ...free })).holder).toBe('next');
    expect((await served.done('task.lease', { worker_id: 'next', ...WAIT })).leases).toHaveLength(1);
  });

  it('is given back at once when the connection closed while its payload was being read', async () => {
    const slow = new SlowReads();
    const sizes = { segmentBytes: 64 * 1024, recentBytesMax: 0 };
    served = await startServed({ engine: fileEngine({ dir: '/data', files: slow, ...sizes }) });
    await served.done('task.create', { payload: 'x'.repeat(1_000), task_id: 't' });
    slow.hold();
    const gone = await begin('task.lease', { worker_id: 'gone', ttl_ms: 600_000 });
    await served.until(() => slow.waiting > 0);
    gone.destroy();
    await noticed();
    slow.letGo();
    expect((await served.done('task.lease', { worker_id: 'next', ...WAIT })).leases).toMatchObject([
      { task_id: 't' },
    ]);
  });
});

/** A disk whose reads wait until they are let go. */
class SlowReads extends TestDisk {
  waiting = 0;
  private held: Promise<void> | null = null;
  private go: () => void = () => undefined;

  hold(): void {
    this.held = new Promise((resolve) => {
      this.go = resolve;
    });
  }

  letGo(): void {
    this.held = null;
    this.go();
  }

  override async open(path: string, mode: OpenMode): Promise<OpenFile> {
    const file = await super.open(path, mode);
    return {
      ...file,
      read: async (...where) => {
        this.waiting += 1;
        await this.held;
        return file.read(...where);
      },
    };
  }
}

describe('a line of a thousand waiters, a third of whom go', () => {
  const COUNT = 1_000;
  const isLost = (n: number): boolean => n % 3 === 1;

  it('for a name: every grant reaches a live caller, first come, first served', async () => {
    await held('n');
    const line: RawConnection[] = [];
    for (let n = 0; n < COUNT; n++) {
      line.push(
        await begin('lease.acquire', {
          name: 'n',
          holder: `h${n}`,
          token: `${TOKEN}-${n}`,
          ttl_ms: 600_000,
          ...WAIT,
        }),
      );
      await untilWaiting(n + 1);
    }
    // Half of the lost go before anything moves, the others in the very moment their turn may come.
    for (let n = 0; n < COUNT / 2; n++) if (isLost(n)) line[n]!.destroy();
    const order: number[] = [];
    const answers = line.map(async (connection, n) => {
      if (isLost(n)) return;
      const { status } = await connection.answer();
      expect(status).toBe(200);
      order.push(n);
      if (isLost(n + 1)) line[n + 1]?.destroy();
      await served.done('lease.release', { name: 'n', holder: `h${n}`, token: `${TOKEN}-${n}` });
    });
    await letGo('n');
    await Promise.all(answers);
    expect(order).toEqual(line.map((_, n) => n).filter((n) => !isLost(n)));
    expect(
      (await served.done('lease.acquire', { name: 'n', holder: 'last', ttl_ms: 1_000, ...WAIT })).holder,
    ).toBe('last');
  });

  it('for tasks: every task reaches a live worker, first come, first served', async () => {
    const line: RawConnection[] = [];
    for (let n = 0; n < COUNT; n++) {
      line.push(await begin('task.lease', { worker_id: `w${n}`, ttl_ms: 600_000, ...WAIT }));
      await untilWaiting(n + 1);
    }
    for (let n = 0; n < COUNT; n++) if (isLost(n)) line[n]!.destroy();
    const alive = line.filter((_, n) => !isLost(n));
    const ops = alive.map((_, n) => ({ op: 'task.create', payload: n }));
    await served.send('POST', '/v1/batch', { body: { ops } });
    const answers = await Promise.all(alive.map((connection) => connection.answer()));
    const payloads = answers.map(({ text }) => JSON.parse(text).leases[0].payload as number);
    expect([...payloads].sort((a, b) => a - b)).toEqual(ops.map(({ payload }) => payload));
    expect(await waiters()).toBe(0);
  });
});
