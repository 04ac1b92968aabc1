// A disk that fails, fills up or loses its power at any single operation: the failure is clear, nothing acknowledged is
// missing afterwards, nothing half-written is ever seen, and the next open is clean.
import { describe, expect, it } from 'vitest';
import {
  appendBatch,
  openHeard,
  payloadOf,
  payloadText,
  queuePaused,
  readText,
  taskCreated,
} from '../../../test/support/log-story.ts';
import { diskError, PowerCutError, TestDisk } from '../../../test/support/test-disk.ts';
import type { Log } from '../log.ts';
import { fileEngine } from './file-engine.ts';

const SMALL = { segmentBytes: 8 * 1024, batchBytesMax: 1024, operationBytesMax: 1024, recentBytesMax: 0 };
const engineOn = (files: TestDisk, sizes: object = {}) =>
  fileEngine({ dir: '/var/data', files, ...SMALL, ...sizes });
const BATCHES = 40;
const task = (seq: number) => taskCreated(seq, 200);

/** Two writers one after the other over several segments; answers the last `seq` that was acknowledged. */
async function live(disk: TestDisk, acknowledged: (lastSeq: number) => void): Promise<void> {
  for (let writer = 0; writer < 2; writer++) {
    const { log } = await openHeard(engineOn(disk));
    try {
      for (let i = 0; i < BATCHES; i++) {
        await appendBatch(log, (i % 3) + 1, task);
        acknowledged(log.position.lastSeq);
        if (i % 5 === 0) await log.mark();
      }
    } finally {
      await log.close();
    }
  }
}

async function operationsOf(body: (disk: TestDisk) => Promise<void>): Promise<number> {
  const disk = new TestDisk();
  await body(disk);
  return disk.operations.length;
}

/** Checks the log: everything acknowledged, perhaps the one unacknowledged batch, and all of it intact. */
async function expectAtLeast(disk: TestDisk, lastSeq: number, where: string): Promise<void> {
  const { log, heard } = await openHeard(engineOn(disk));
  const found = heard.logged.length;
  expect(heard.seqs, where).toEqual(Array.from({ length: found }, (_, i) => i + 1));
  expect(found, where).toBeGreaterThanOrEqual(lastSeq);
  expect(found, where).toBeLessThanOrEqual(lastSeq + 3);
  for (const { entry, seq } of heard.logged) {
    expect(await readText(log, payloadOf(entry)), where).toBe(payloadText(seq, 200));
  }
  await appendBatch(log, 2, task);
  const again = await openHeard(engineOn(disk.afterPowerCut()));
  expect(again.heard.logged.length, where).toBe(found + 2);
}

describe('any one operation of the disk', () => {
  it.each(['EIO', 'ENOSPC'] as const)(
    'may fail with %s',
    async (code) => {
      const count = await operationsOf((disk) => live(disk, () => {}));
      expect(count).toBeGreaterThan(150);
      let clear = 0;
      for (let failing = 0; failing < count; failing++) {
        const disk = new TestDisk();
        let left = failing;
        const fault = diskError(code);
        disk.gate = () => {
          if (left-- === 0) throw fault;
        };
        let lastSeq = 0;
        const outcome = await live(disk, (seq) => {
          lastSeq = seq;
        }).then(
          () => null,
          (error: unknown) => error,
        );
        const where = `operation ${failing} (${disk.operations[failing]?.name} ${disk.operations[failing]?.path})`;
        // A reported failure is this one. Failing to preallocate space is no failure.
        if (outcome !== null) {
          expect(outcome, where).toBe(fault);
          clear += 1;
        }
        disk.gate = () => {};
        await expectAtLeast(disk.copy(), lastSeq, `${where}, then a power cut`);
        await expectAtLeast(disk.afterKill(), lastSeq, `${where}, then a restart`);
      }
      expect(clear).toBeGreaterThan(count / 3);
    },
    120_000,
  );

  it('may be the last before the power is cut', async () => {
    const count = await operationsOf((disk) => live(disk, () => {}));
    for (let last = 0; last < count; last++) {
      const disk = new TestDisk();
      let left = last;
      disk.gate = () => void (left-- === 0 && disk.cutPower());
      let lastSeq = 0;
      // Closing a log whose last mark was lost is no failure; anything else fails because of the cut.
      const outcome = await live(disk, (seq) => {
        lastSeq = seq;
      }).catch((error: unknown) => error);
      expect(outcome ?? new PowerCutError()).toBeInstanceOf(PowerCutError);
      const where = `operation ${last} (${disk.operations[last]?.name} ${disk.operations[last]?.path})`;
      await expectAtLeast(disk.copy(), lastSeq, `${where}, everything unsynced lost`);
      await expectAtLeast(disk.copy({ names: true }), lastSeq, `${where}, unsynced bytes lost, names kept`);
      await expectAtLeast(
        disk.copy({ sector: (_, at) => at % 2 === last % 2, names: last % 3 === 0 }),
        lastSeq,
        where,
      );
    }
  }, 120_000);
});

describe('an append that failed', () => {
  it('is the end of the log: everything later fails with the same fault, and nothing is tried again', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 1);
    const fault = diskError('EIO');
    disk.gate = (operation) => {
      if (operation.name === 'write') throw fault;
    };
    await expect(appendBatch(log, 1)).rejects.toBe(fault);
    disk.gate = () => {};
    const before = disk.operations.length;
    expect(() => log.begin(2, 2)).toThrow(fault);
    await expect(log.append()).rejects.toBe(fault);
    await expect(log.mark()).rejects.toBe(fault);
    expect(disk.operations.slice(before).filter(({ name }) => name === 'write')).toEqual([]);
    await log.close();
    const { heard } = await openHeard(engineOn(disk));
    expect(heard.seqs).toEqual([1]);
  });

  it('may be one of which only a part was written', async () => {
    const disk = new TestDisk();
    const short: TestDisk = Object.create(disk, {
      open: {
        value: async (...parameters: Parameters<TestDisk['open']>) => {
          const file = await disk.open(...parameters);
          if (!parameters[1].durable) return file;
          return {
            ...file,
            write: (bytes: Uint8Array, at: number) => file.write(bytes.subarray(0, 100), at),
          };
        },
      },
    });
    for (const method of ['list', 'makeDir', 'syncDir', 'lock', 'networkKind', 'remove', 'rename'] as const) {
      Object.defineProperty(short, method, { value: disk[method].bind(disk) });
    }
    const { log } = await openHeard(engineOn(short));
    await expect(appendBatch(log, 1)).rejects.toThrow(/Only 100 of/);
    await log.close();
    const { heard } = await openHeard(engineOn(disk));
    expect(heard.seqs).toEqual([]);
  });

  it('does not show: the position stays where it was', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 2);
    disk.gate = () => {
      throw diskError('EIO');
    };
    await expect(appendBatch(log, 2)).rejects.toThrow();
    expect(log.position.lastSeq).toBe(2);
  });
});

describe('a full disk', () => {
  it('may also say so by taking only a part of the zeros', async () => {
    const disk = new TestDisk();
    const opening = disk.open.bind(disk);
    let isFull = false;
    disk.open = async (path, mode) => {
      const file = await opening(path, mode);
      const write = (bytes: Uint8Array, at: number) =>
        file.write(isFull ? bytes.subarray(0, 512) : bytes, at);
      return mode.durable ? file : { ...file, write };
    };
    const { log } = await openHeard(engineOn(disk));
    isFull = true;
    while (isRoomy(log)) {
      expect(disk.paths().filter((path) => path.endsWith('.seg')).length).toBeLessThan(4);
      await appendBatch(log, 1, task);
      await settle();
    }
    isFull = false;
    log.seekSpace();
    await settle();
    expect(log.full).toBe(false);
    await log.close();
  });

  const isRoomy = (log: Log) => !log.full;

  /** Lets what runs in the background finish: nothing in the test disk takes longer than a few turns. */
  const settle = async () => {
    for (let i = 0; i < 200; i++) await Promise.resolve();
  };

  it('is a state: the log says so early, and the rest of its segment is the reserve', async () => {
    const disk = new TestDisk();
    disk.capacityBytes = 20 * 1024;
    const { log } = await openHeard(engineOn(disk));
    while (isRoomy(log)) {
      await appendBatch(log, 1, task);
      await settle();
    }
    expect(log.batchBytesMax).toBeGreaterThan(0);
    let more = 0;
    for (; log.batchBytesMax > 0; more++) await appendBatch(log, 1, queuePaused);
    expect(more).toBeGreaterThan(10);
    // Space comes back, and so does the log; asking is enough.
    disk.capacityBytes = Number.POSITIVE_INFINITY;
    log.seekSpace();
    await settle();
    expect(log.full).toBe(false);
    for (let i = 0; i < 100; i++) await appendBatch(log, 1, task);
    const { lastSeq } = log.position;
    await log.close();
    const { heard } = await openHeard(engineOn(disk.afterPowerCut()));
    expect(heard.seqs).toEqual(Array.from({ length: lastSeq }, (_, i) => i + 1));
  });

  it('leaves as reserve what is allocated, if that is not the whole segment', async () => {
    const disk = new TestDisk();
    disk.capacityBytes = 200 * 1024;
    const { log } = await openHeard(engineOn(disk, { segmentBytes: 1024 * 1024 }));
    await settle();
    expect(log.full).toBe(true);
    let count = 0;
    for (; log.batchBytesMax > 0; count++) await appendBatch(log, 1, task);
    expect(count).toBeGreaterThan(100);
    expect(log.size.bytes).toBeLessThan(128 * 1024);
    await log.mark();
    await log.close();
    const { heard } = await openHeard(engineOn(disk.afterPowerCut(), { segmentBytes: 1024 * 1024 }));
    expect(heard.logged).toHaveLength(count);
  });

  it('lets a log with some reserve left open, and says that it is full', async () => {
    const disk = new TestDisk();
    disk.capacityBytes = 20 * 1024;
    const first = await openHeard(engineOn(disk));
    while (isRoomy(first.log)) {
      await appendBatch(first.log, 1, task);
      await settle();
    }
    await first.log.close();
    const { log } = await openHeard(engineOn(disk));
    await settle();
    expect(log.full).toBe(true);
    await appendBatch(log, 1, queuePaused);
    await log.close();
  });

  it('leaves no empty segment behind, which would be reported as a cut file at the next start', async () => {
    const disk = new TestDisk();
    disk.capacityBytes = 20 * 1024;
    const { log } = await openHeard(engineOn(disk));
    while (isRoomy(log)) {
      await appendBatch(log, 1, task);
      await settle();
    }
    await log.mark();
    await log.close();
    const torn: object[] = [];
    const next = await openHeard(engineOn(disk, { onTornTail: (tail: object) => torn.push(tail) }));
    expect(torn).toEqual([]);
    await next.log.close();
  });

  it('lets a log without any reserve start once more, and then takes nothing', async () => {
    const disk = new TestDisk();
    disk.capacityBytes = 20 * 1024;
    const first = await openHeard(engineOn(disk));
    while (isRoomy(first.log) || first.log.batchBytesMax > 0) {
      await appendBatch(first.log, 1, queuePaused);
      await settle();
    }
    for (let start = 0; start < 5; start++) {
      const copy = disk.copy();
      copy.capacityBytes = disk.capacityBytes;
      const { log } = await openHeard(engineOn(copy));
      expect(log.full).toBe(true);
      expect(log.batchBytesMax).toBe(0);
      await appendBatch(log, 1, queuePaused);
      await log.close();
    }
  });

  it('refuses a new log, with the fault of the disk', async () => {
    const disk = new TestDisk();
    disk.capacityBytes = 100;
    await expect(openHeard(engineOn(disk))).rejects.toThrow('ENOSPC');
    disk.capacityBytes = Number.POSITIVE_INFINITY;
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 1);
    await log.close();
  });
});

describe('a process that is killed at any operation', () => {
  it('leaves a log that the next one can go on with, even if the power is cut right after', async () => {
    const count = await operationsOf((disk) => live(disk, () => {}));
    for (let last = 0; last < count; last++) {
      const disk = new TestDisk();
      let left = last;
      disk.gate = () => void (left-- === 0 && disk.cutPower());
      let lastSeq = 0;
      await live(disk, (seq) => {
        lastSeq = seq;
      }).catch(() => {});
      const where = `operation ${last} (${disk.operations[last]?.name} ${disk.operations[last]?.path})`;
      await expectAtLeast(disk.afterKill(), lastSeq, where);
    }
  }, 120_000);
});

describe('a batch behind a commit mark', () => {
  it('is written only once the mark is on disk', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 1);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let writes = 0;
    disk.slow = () => {
      writes += 1;
      return writes === 1 ? held : null;
    };
    const marking = log.mark();
    const appending = appendBatch(log, 1);
    for (let i = 0; i < 50; i++) await Promise.resolve();
    expect(writes).toBe(1);
    release();
    await Promise.all([marking, appending]);
    expect(writes).toBe(2);
    const { heard } = await openHeard(engineOn(disk.afterPowerCut()));
    expect(heard.seqs).toEqual([1, 2]);
  });
});

/** The first piece of zeros is there; the second one is on its way until it is released. */
function holdSecondPiece(disk: TestDisk): { readonly release: () => void; readonly writes: () => number } {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let writes = 0;
  disk.slow = () => {
    writes += 1;
    return writes === 2 ? held : null;
  };
  return { release, writes: () => writes };
}

describe('space that is still being allocated', () => {
  const PIECE = 128 * 1024;

  it('is never written to: zeros may still come', async () => {
    const disk = new TestDisk();
    const { release } = holdSecondPiece(disk);
    const sizes = { segmentBytes: 1024 * 1024, batchBytesMax: 8 * 1024, operationBytesMax: 8 * 1024 };
    const { log } = await openHeard(engineOn(disk, sizes));
    const sizeOf = async (length: number) => {
      const before = log.size.bytes;
      await appendBatch(log, 1, (seq) => taskCreated(seq, length));
      return log.size.bytes - before;
    };
    const first = (await sizeOf(4_000)) - 4_000;
    const overhead = Math.min(first, (await sizeOf(4_000)) - 4_000);
    while (PIECE - log.size.bytes > 12_000) await sizeOf(4_000);
    while (PIECE - log.size.bytes > 5_000) await sizeOf(2_000);
    await sizeOf(PIECE - log.size.bytes - overhead - 16);
    const left = PIECE - log.size.bytes;
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left).toBeLessThan(56);
    await log.mark();
    expect(PIECE - log.size.bytes).toBe(left);
    const appending = appendBatch(log, 1);
    for (let i = 0; i < 100; i++) await Promise.resolve();
    expect(PIECE - log.size.bytes).toBe(left);
    release();
    await appending;
    await log.mark();
    const { lastSeq } = log.position;
    const { heard } = await openHeard(engineOn(disk.afterPowerCut(), sizes));
    expect(heard.logged).toHaveLength(lastSeq);
  });
});

describe('a directory above that cannot be synced', () => {
  it.each([
    ['EIO', /EIO/],
    ['ENOSPC', /ENOSPC/],
  ] as const)(
    'is a fault when the disk says %s: what was made there may be gone tomorrow',
    async (code, says) => {
      const disk = new TestDisk();
      await (await openHeard(engineOn(disk))).log.close();
      disk.gate = ({ name, path }) => {
        if (name === 'syncDir' && path === '/var') throw diskError(code);
      };
      await expect(openHeard(engineOn(disk))).rejects.toThrow(says);
    },
  );

  it('is none of ours when we may not even read it', async () => {
    const disk = new TestDisk();
    await (await openHeard(engineOn(disk))).log.close();
    disk.gate = ({ name, path }) => {
      if (name === 'syncDir' && path === '/var') throw Object.assign(new Error('no'), { code: 'EACCES' });
    };
    await (await openHeard(engineOn(disk))).log.close();
  });
});

describe('a torn end', () => {
  it('of which only a part can be overwritten with zeros is a fault, and the log does not open', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 2);
    await log.close();
    const [path] = disk.paths();
    const { bytes } = log.size;
    disk.tamper(path!, (content) => content.fill(0xaa, bytes, bytes + 1_000));
    const opening = disk.open.bind(disk);
    disk.open = async (...parameters) => {
      const file = await opening(...parameters);
      return { ...file, write: (zeros, at) => file.write(zeros.subarray(0, 100), at) };
    };
    await expect(openHeard(engineOn(disk))).rejects.toThrow(/Only 100 of \d+ zeros/);
    disk.open = opening;
    const { heard } = await openHeard(engineOn(disk));
    expect(heard.seqs).toEqual([1, 2]);
  });
});

describe('closing', () => {
  it('waits for zeros that are on their way, and none come after it: the next writer may be there', async () => {
    const disk = new TestDisk();
    const { release, writes } = holdSecondPiece(disk);
    const sizes = { segmentBytes: 4 * 1024 * 1024 };
    const { log } = await openHeard(engineOn(disk, sizes));
    let isClosed = false;
    const closing = log.close().then(() => {
      isClosed = true;
    });
    for (let i = 0; i < 100; i++) await Promise.resolve();
    expect(isClosed).toBe(false);
    expect(await disk.isLocked('/var/data/LOCK')).toBe(true);
    release();
    await closing;
    for (let i = 0; i < 100; i++) await Promise.resolve();
    expect(writes()).toBe(2);
    expect(disk.openPaths).toEqual([]);
  });
});

describe('names', () => {
  it('are synced before anything is written to a new file', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    for (let i = 0; i < BATCHES * 3; i++) await appendBatch(log, 2, task);
    await log.close();
    const made = new Set<string>();
    const synced = new Set<string>();
    let created = 0;
    for (const { name, path } of disk.operations) {
      if (name === 'open' && !made.has(path)) {
        made.add(path);
        created += 1;
      }
      if (name === 'syncDir') for (const known of made) synced.add(known);
    }
    expect(created).toBeGreaterThan(3);
    const firstSync = disk.operations.findIndex(({ name, path }) => name === 'syncDir' && path === '/');
    const firstFile = disk.operations.findIndex(({ name }) => name === 'open');
    expect(firstSync).toBeGreaterThan(-1);
    expect(firstSync).toBeLessThan(firstFile);
    for (const path of disk.paths().filter((candidate) => candidate.endsWith('.seg'))) {
      expect(synced).toContain(path);
    }
  });
});

describe('a network file system', () => {
  it('is refused unless asked for', async () => {
    const disk = new TestDisk();
    disk.network = 'nfs';
    await expect(openHeard(engineOn(disk))).rejects.toThrow(/network file system \(nfs\)/);
    const { log } = await openHeard(engineOn(disk, { allowNetworkFileSystem: true }));
    await log.close();
  });
});
