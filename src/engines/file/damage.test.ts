// Durable bytes that have changed: refused with file and offset, or detected when they are read. A log never opens
// with an entry that was not written.
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  appendBatch,
  openHeard,
  payloadOf,
  payloadText,
  readText,
  taskCreated,
} from '../../../test/support/log-story.ts';
import { TestDisk } from '../../../test/support/test-disk.ts';
import type { Engine, Log, LoggedEntry } from '../log.ts';
import { LogDamagedError, LogTooNewError } from '../log.ts';
import { fileEngine } from './file-engine.ts';
import { FILE_HEAD_BYTES } from './file-head.ts';

const SMALL = { segmentBytes: 2048, batchBytesMax: 256, operationBytesMax: 512, recentBytesMax: 0 };
const engineOn = (files: TestDisk): Engine => fileEngine({ dir: '/data', files, ...SMALL });
const segmentPath = (number: number) => `/data/${String(number).padStart(16, '0')}.seg`;

interface Story {
  readonly disk: TestDisk;
  readonly logged: LoggedEntry[];
  /** The `seq` of the first entry of the newest batch. */
  readonly newestFrom: number;
  readonly used: ReadonlyMap<string, number>;
}

async function story(batches: number, end: (log: Log) => Promise<void>): Promise<Story> {
  const disk = new TestDisk();
  const { log } = await openHeard(engineOn(disk));
  let newestFrom = 1;
  for (let i = 0; i < batches; i++) {
    newestFrom = log.position.lastSeq + 1;
    await appendBatch(log, (i % 3) + 1, (seq) => taskCreated(seq, 60));
  }
  await end(log);
  const left = disk.afterPowerCut();
  const { heard } = await openHeard(engineOn(left.copy()));
  const used = new Map(
    left
      .paths()
      .filter((path) => path.endsWith('.seg'))
      .map((path) => [path, lastByte(left.contentOf(path)) + 1]),
  );
  return { disk: left, logged: heard.logged, newestFrom, used };
}

function lastByte(content: Buffer): number {
  for (let at = content.length - 1; at >= 0; at--) if (content[at] !== 0) return at;
  return -1;
}

/** Flips one bit of every used byte, one after the other, and hands over what became of it. */
async function flipEverywhere(
  { disk, logged, used }: Story,
  judge: (opened: LoggedEntry[], where: string) => void,
): Promise<{ refused: number; torn: number; harmless: number }> {
  const seen = { refused: 0, torn: 0, harmless: 0 };
  for (const [path, bytes] of used) {
    for (let at = 0; at < bytes; at++) {
      const copy = disk.copy();
      copy.tamper(path, (content) => {
        content[at]! ^= 1 << (at % 8);
        return content;
      });
      let opened: Awaited<ReturnType<typeof openHeard>>;
      try {
        opened = await openHeard(engineOn(copy));
      } catch (error) {
        expect(error).toBeInstanceOf(LogDamagedError);
        const { file, offset } = error as LogDamagedError;
        expect(file).toMatch(/\.seg$/);
        if (file === basename(path)) expect(offset).toBeLessThanOrEqual(at);
        seen.refused += 1;
        continue;
      }
      const { log, heard } = opened;
      const where = `${path} at ${at}`;
      judge(heard.logged, where);
      expect(JSON.stringify(heard.logged), where).toBe(JSON.stringify(logged.slice(0, heard.logged.length)));
      seen[heard.logged.length < logged.length ? 'torn' : 'harmless'] += 1;
      for (const { entry, seq } of heard.logged) {
        const text = await readText(log, payloadOf(entry));
        if (text !== null && text !== payloadText(seq, 60)) expect.unreachable(`${where}: ${text}`);
      }
      await log.close();
    }
  }
  return seen;
}

describe('a flipped bit anywhere in the used part of a log', () => {
  it('costs at most the newest batch when nothing marks that as durable', async () => {
    const told = await story(10, async () => {});
    expect(told.used.size).toBeGreaterThan(1);
    const seen = await flipEverywhere(told, (opened, where) => {
      if (opened.length === told.logged.length) return;
      expect(opened.at(-1)?.seq, where).toBe(told.newestFrom - 1);
    });
    expect(seen.refused).toBeGreaterThan(0);
    expect(seen.torn).toBeGreaterThan(0);
    expect(seen.harmless).toBeGreaterThan(0);
  }, 60_000);

  it('costs no entry at all once the newest batch is marked', async () => {
    const told = await story(10, (log) => log.mark());
    const seen = await flipEverywhere(told, (opened, where) => {
      expect(opened.length, where).toBe(told.logged.length);
    });
    expect(seen.refused).toBeGreaterThan(0);
    expect(seen.torn).toBe(0);
  }, 60_000);
});

describe('damage', () => {
  const refusal = async (disk: TestDisk): Promise<LogDamagedError> => {
    const error = await openHeard(engineOn(disk)).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(LogDamagedError);
    return error as LogDamagedError;
  };

  it('is a segment that is missing in the middle', async () => {
    const { disk } = await story(60, async () => {});
    disk.unlinkBehindTheBack(segmentPath(2));
    expect(await refusal(disk)).toMatchObject({ file: basename(segmentPath(3)), offset: 0 });
  });

  it('is a first segment that is missing', async () => {
    const { disk } = await story(60, async () => {});
    disk.unlinkBehindTheBack(segmentPath(1));
    expect(await refusal(disk)).toMatchObject({ file: basename(segmentPath(2)), offset: 0 });
  });

  it('is the head of a segment that is gone while its frames are there', async () => {
    const { disk } = await story(30, async () => {});
    disk.tamper(segmentPath(2), (content) => content.fill(0, 0, 64));
    expect(await refusal(disk)).toMatchObject({ file: basename(segmentPath(2)), offset: 0 });
  });

  it('is the end of a segment that is gone while the next one is there', async () => {
    const { disk } = await story(30, async () => {});
    disk.tamper(segmentPath(1), (content) => content.fill(0, 700));
    expect((await refusal(disk)).message).toMatch(/something before it is missing|whole ones follow/);
  });

  it('is a last frame that is gone while the head of the next segment proves that it was there', async () => {
    const { disk, used } = await story(30, async () => {});
    const paths = [...used.keys()].filter((path) => used.get(path)! > FILE_HEAD_BYTES);
    const [before, last] = paths.slice(-2) as [string, string];
    // A spare would know better than to call this a torn write.
    for (const path of used.keys()) if (!paths.includes(path)) disk.unlinkBehindTheBack(path);
    disk.tamper(last, (content) => content.fill(0, 64));
    const { heard } = await openHeard(engineOn(disk.copy()));
    expect(heard.logged.length).toBeGreaterThan(0);
    disk.tamper(before, (content) => content.fill(0xaa, used.get(before)! - 20));
    expect((await refusal(disk)).file).toBe(basename(before));
  });

  it('is a frame that is whole but belongs to another log', async () => {
    const ours = await story(6, (log) => log.mark());
    const others = await story(6, (log) => log.mark());
    // The same seqs and lengths; only what the first payload says is different, and with it every later checksum.
    const other = new TestDisk();
    const { log } = await openHeard(engineOn(other));
    for (let i = 0; i < 6; i++) {
      await appendBatch(log, (i % 3) + 1, (seq) => taskCreated(i === 0 ? seq + 500 : seq, 60));
    }
    expect(others.disk.contentOf(segmentPath(1))).toEqual(ours.disk.contentOf(segmentPath(1)));
    const foreign = other.contentOf(segmentPath(1));
    const second = ours.disk.contentOf(segmentPath(1)).indexOf(foreign.subarray(64, 72), 72);
    ours.disk.tamper(segmentPath(1), (content) => {
      foreign.copy(content, second, second);
      return content;
    });
    expect(await refusal(ours.disk)).toMatchObject({ file: basename(segmentPath(1)), offset: second });
  });

  it('is a segment under the number of another', async () => {
    const { disk, used } = await story(30, async () => {});
    const number = [...used.values()].filter((bytes) => bytes > FILE_HEAD_BYTES).length;
    const content = Buffer.from(disk.contentOf(segmentPath(number)));
    for (const path of [...used.keys()].slice(number - 1)) disk.unlinkBehindTheBack(path);
    const file = await disk.open(segmentPath(number + 1), { create: true });
    await file.write(content, 0);
    expect(await refusal(disk)).toMatchObject({ file: basename(segmentPath(number + 1)), offset: 0 });
  });

  it('is a torn end while whole frames stand in the next segment, whose head is gone', async () => {
    const { disk, used } = await story(30, async () => {});
    const paths = [...used.keys()].filter((path) => used.get(path)! > FILE_HEAD_BYTES);
    const [before, last] = paths.slice(-2) as [string, string];
    disk.tamper(last, (content) => content.fill(0, 0, 64));
    disk.tamper(before, (content) => content.fill(0xaa, used.get(before)! - 20));
    expect((await refusal(disk)).file).toBe(basename(before));
  });

  it('is what happens to the newest batch of a log that was closed: closing marks it as durable', async () => {
    const { disk, used } = await story(3, (log) => log.close());
    const { disk: unmarked, used: usedThen } = await story(3, async () => {});
    const end = usedThen.get(segmentPath(1))!;
    expect(used.get(segmentPath(1))!).toBeGreaterThan(end);
    for (const each of [disk, unmarked])
      each.tamper(segmentPath(1), (content) => content.fill(0xaa, end - 20, end));
    expect((await refusal(disk)).file).toBe(basename(segmentPath(1)));
    const { heard } = await openHeard(engineOn(unmarked));
    expect(heard.logged).toHaveLength(3);
  });

  it('names file, offset and the word in its message', async () => {
    const { disk } = await story(8, (log) => log.mark());
    disk.tamper(segmentPath(1), (content) => content.fill(0xaa, 70, 80));
    expect((await refusal(disk)).message).toMatch(/damaged: 0+1\.seg at offset 64/);
  });

  it('leaves no file open', async () => {
    const { disk } = await story(30, (log) => log.mark());
    disk.tamper(segmentPath(2), (content) => content.fill(0xaa, 70, 80));
    await refusal(disk);
    expect(disk.operations.filter(({ name }) => name === 'open').length).toBeGreaterThan(2);
    expect(disk.openPaths).toEqual([]);
  });

  it('leaves the directory as it was, and the lock free', async () => {
    const { disk } = await story(8, (log) => log.mark());
    disk.tamper(segmentPath(1), (content) => content.fill(0xaa, 70, 80));
    const before = disk.contentOf(segmentPath(1)).toString('latin1');
    await refusal(disk);
    await refusal(disk);
    expect(disk.contentOf(segmentPath(1)).toString('latin1')).toBe(before);
  });
});

describe('a batch that leaves a gap', () => {
  it('is not even begun, because no log with one would open again', async () => {
    const { log } = await openHeard(engineOn(new TestDisk()));
    await appendBatch(log, 3);
    for (const seq of [1, 3, 5, 100]) expect(() => log.begin(seq, 1), `seq ${seq}`).toThrow(/cannot begin/);
    await appendBatch(log, 1);
    expect(log.position.lastSeq).toBe(4);
    await log.close();
  });
});

describe('what is no damage', () => {
  it('is a segment that was allocated and never used, or only in part', async () => {
    const { disk, logged } = await story(8, (log) => log.close());
    for (const content of [Buffer.alloc(0), Buffer.alloc(100), Buffer.alloc(2048)]) {
      const copy = disk.copy();
      const file = await copy.open(segmentPath(9), { create: true });
      await file.write(content, 0);
      const { log, heard } = await openHeard(engineOn(copy));
      expect(heard.logged).toEqual(logged);
      for (let i = 0; i < 60; i++) await appendBatch(log, 1, (seq) => taskCreated(seq, 60));
      await log.close();
      const again = await openHeard(engineOn(copy.afterPowerCut()));
      expect(again.heard.logged).toHaveLength(logged.length + 60);
    }
  });

  it('is a payload that changed, in the last batch of a segment too: nothing else is affected', async () => {
    const { disk, logged, used } = await story(30, async () => {});
    const [first] = [...used.keys()];
    const at = disk.contentOf(first!).lastIndexOf('xxxx');
    disk.tamper(first!, (content) => content.fill('y', at, at + 4));
    const { log, heard } = await openHeard(engineOn(disk));
    expect(heard.logged).toEqual(logged);
    const texts = await Promise.all(logged.map(({ entry }) => readText(log, payloadOf(entry))));
    expect(texts.filter((text) => text === null)).toHaveLength(1);
  });

  it('is a file that is not ours', async () => {
    const { disk, logged } = await story(8, (log) => log.close());
    await disk.open('/data/README.txt', { create: true });
    const { heard } = await openHeard(engineOn(disk));
    expect(heard.logged).toEqual(logged);
  });
});

describe('a log from the future', () => {
  it('is refused by its version', async () => {
    const { disk } = await story(3, async () => {});
    const { crc32 } = await import('node:zlib');
    disk.tamper(segmentPath(1), (content) => {
      content.writeUInt32LE(2, 12);
      content.writeUInt32LE(crc32(content.subarray(12, 64)), 8);
      return content;
    });
    await expect(openHeard(engineOn(disk))).rejects.toThrow(LogTooNewError);
  });
});
