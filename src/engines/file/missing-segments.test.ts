// A segment that is gone is missed, also when nothing but a spare came after it; and nothing is missed that a crash, a
// compaction or an older version left out.
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../../test/support/chronicle.ts';
import { inlineThreads } from '../../../test/support/inline-threads.ts';
import { PowerCutError, TestDisk } from '../../../test/support/test-disk.ts';
import { LogDamagedError } from '../log.ts';
import { fileEngine } from './file-engine.ts';
import { FILE_HEAD_BYTES } from './file-head.ts';
import { fileName } from './file-names.ts';
import { inspectLog, statLog, verifyLog } from './inspect.ts';
import { restoreLog } from './restore.ts';

const DIR = '/data';
const SMALL = {
  segmentBytes: 6 * 1024,
  batchBytesMax: 1024,
  operationBytesMax: 1024,
  recentBytesMax: 0,
  partBytesMax: 4 * 1024,
  compactionBytesMin: 12 * 1024,
};
const EPOCH = { format: 'leasehold', version: 1, nowMs: 1_800_000_000_000, seed: 0 };
const engineOn = (files: TestDisk) =>
  fileEngine({ dir: DIR, files, threads: inlineThreads(files), ...SMALL });
const segment = (number: number) => `${DIR}/${fileName(number, 'seg')}`;

interface Files {
  /** Segments with entries in them, and those without, by path and in order. */
  readonly used: string[];
  readonly spare: string[];
}

async function filesOf(disk: TestDisk): Promise<Files> {
  const { files } = await statLog(disk, DIR);
  const segments = files.filter(({ kind }) => kind === 'segment');
  const paths = (isUsed: boolean) =>
    segments.filter(({ lastSeq }) => lastSeq > 0 === isUsed).map(({ name }) => `${DIR}/${name}`);
  return { used: paths(true), spare: paths(false) };
}

/** A log at every length, after a power cut, as long as a spare waits behind it. */
async function* withSpare({ compact }: { readonly compact: boolean }) {
  const disk = new TestDisk();
  const chronicle = await Chronicle.open(engineOn(disk));
  await chronicle.start();
  for (let i = 0; i < 40; i++) {
    await chronicle.live();
    if (compact && chronicle.log.wantsCompaction) await chronicle.compact();
    const left = disk.copy();
    const { used, spare } = await filesOf(left);
    if (spare.length > 0)
      yield { disk: left, newest: used.at(-1)!, used, spare, seq: chronicle.state.lastSeq };
  }
}

/** What older versions left: a spare of nothing but zeros. */
function asOlderVersion(disk: TestDisk, spare: readonly string[]): TestDisk {
  for (const path of spare) disk.tamper(path, (content) => content.fill(0));
  return disk;
}

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

/** Everybody who reads a log must say the same of it. */
async function expectDamaged(disk: TestDisk, path: string, says: RegExp, offset = 0): Promise<void> {
  const before = disk.paths();
  for (const error of [
    await errorOf(verifyLog(disk, DIR)),
    await errorOf(statLog(disk, DIR)),
    await errorOf(inspectLog(disk, DIR, { opaques: false })),
    await errorOf(restoreLog({ files: disk, backupDir: DIR, dir: '/new', ...EPOCH })),
    await errorOf(Chronicle.open(engineOn(disk))),
  ]) {
    expect(error).toBeInstanceOf(LogDamagedError);
    expect(error).toMatchObject({ file: basename(path), offset });
    expect((error as Error).message).toMatch(says);
  }
  expect(disk.paths().filter((each) => each !== `${DIR}/LOCK`)).toEqual(before);
}

describe('a missing segment', () => {
  it.each([false, true])(
    'that was the newest is missed while its spare is there (compacted: %s)',
    async (compact) => {
      let seen = 0;
      for await (const { disk, newest } of withSpare({ compact })) {
        disk.unlinkBehindTheBack(newest);
        await expectDamaged(disk, newest, /it is missing: the log ends at seq \d+, but had reached \d+ when/);
        seen += 1;
      }
      expect(seen).toBeGreaterThan(10);
    },
  );

  it('is missed after the log was opened again, and after every one that follows', async () => {
    const disk = new TestDisk();
    const first = await Chronicle.open(engineOn(disk));
    await first.start();
    for (let i = 0; i < 12; i++) await first.live();
    await first.log.close();
    for (let i = 0; i < 8; i++) {
      const { used, spare } = await filesOf(disk);
      if (spare.length > 0) {
        const copy = disk.copy();
        copy.unlinkBehindTheBack(used.at(-1)!);
        await expectDamaged(copy, used.at(-1)!, /it is missing/);
      }
      const chronicle = await Chronicle.open(engineOn(disk));
      await chronicle.live();
      await chronicle.log.close();
    }
  });

  it('is missed together with those before it', async () => {
    for await (const { disk, used } of withSpare({ compact: false })) {
      if (used.length < 3) continue;
      for (const path of used.slice(1)) disk.unlinkBehindTheBack(path);
      await expectDamaged(disk, used.at(-1)!, /it is missing/);
    }
  });

  it('is missed when it was the only one', async () => {
    for await (const { disk, used, spare } of withSpare({ compact: false })) {
      if (used.length > 1) break;
      disk.unlinkBehindTheBack(segment(1));
      await expectDamaged(disk.copy(), segment(1), /it is missing/);
      await expectDamaged(asOlderVersion(disk, spare), segment(1), /it is missing, and no checkpoint/);
    }
  });

  it('is missed without the word of the spare where the numbers alone prove it', async () => {
    let seen = 0;
    for await (const { disk, used, spare } of withSpare({ compact: false })) {
      if (used.length !== 2) continue;
      disk.unlinkBehindTheBack(segment(2));
      await expectDamaged(
        asOlderVersion(disk, spare),
        segment(2),
        /it is missing: 0+3\.seg cannot come after/,
      );
      seen += 1;
    }
    expect(seen).toBeGreaterThan(0);
  });

  it('is missed without the word of the spare where it was the only one behind a checkpoint', async () => {
    let seen = 0;
    for await (const { disk, used, spare } of withSpare({ compact: true })) {
      const { checkpointSeq } = await statLog(disk, DIR);
      if (checkpointSeq === null || used.length > 1) continue;
      disk.unlinkBehindTheBack(used[0]!);
      await expectDamaged(asOlderVersion(disk, spare), spare[0]!, /no segment follows checkpoint/);
      seen += 1;
    }
    expect(seen).toBeGreaterThan(0);
  });

  it('is missed when all that is left is a checkpoint that was never finished', async () => {
    const disk = new TestDisk();
    await disk.makeDir(DIR);
    await disk.open(`${DIR}/${fileName(5, 'ckpt.tmp')}`, { create: true });
    await expectDamaged(disk, segment(1), /it is missing/);
  });
});

describe('the end of the newest segment', () => {
  it('is missed as far as the spare knows of it', async () => {
    let seen = 0;
    for await (const { disk, newest } of withSpare({ compact: false })) {
      disk.tamper(newest, (content) => content.fill(0, FILE_HEAD_BYTES + 8));
      const error = await errorOf(Chronicle.open(engineOn(disk)));
      expect(error).toBeInstanceOf(LogDamagedError);
      expect(error).toMatchObject({ file: basename(newest), offset: 0 });
      seen += 1;
    }
    expect(seen).toBeGreaterThan(10);
  });
});

describe('nothing is missing', () => {
  it('in a log whose spare says nothing, and from then on it does', async () => {
    for await (const { disk, newest, spare, seq } of withSpare({ compact: true })) {
      const again = await Chronicle.open(engineOn(asOlderVersion(disk, spare)));
      expect(again.state.lastSeq).toBe(seq);
      const left = disk.copy();
      left.unlinkBehindTheBack(newest);
      await expectDamaged(left, newest, /it is missing/);
    }
  });

  it('when the power is cut at any operation of a life with new segments, compactions and restarts', async () => {
    const lifeOn = async (disk: TestDisk, reached: (chronicle: Chronicle) => void) => {
      for (let writer = 0; writer < 2; writer++) {
        const chronicle = await Chronicle.open(engineOn(disk));
        reached(chronicle);
        await chronicle.start();
        for (let i = 0; i < 13; i++) {
          await chronicle.live();
          reached(chronicle);
          if (chronicle.log.wantsCompaction) await chronicle.compact();
        }
        await chronicle.log.close();
      }
    };
    const whole = new TestDisk();
    await lifeOn(whole, () => {});
    expect(whole.paths().some((path) => path.endsWith('.ckpt'))).toBe(true);
    const count = whole.operations.length;
    expect(count).toBeGreaterThan(100);
    for (let last = 0; last < count; last++) {
      const disk = new TestDisk();
      let left = last;
      disk.gate = () => void (left-- === 0 && disk.cutPower());
      let seq = 0;
      const outcome = await errorOf(
        lifeOn(disk, ({ state }) => {
          seq = state.lastSeq;
        }),
      );
      expect(outcome ?? new PowerCutError()).toBeInstanceOf(PowerCutError);
      const where = `operation ${last}: ${disk.operations.at(-1)?.name} ${disk.operations.at(-1)?.path}`;
      const odd = { names: true, sector: (_: string, sector: number) => sector % 2 === last % 2 };
      const cuts = [{}, { names: true }, { names: true, sector: () => true }, odd];
      for (const next of [...cuts.map((kept) => disk.copy(kept)), disk.afterKill()]) {
        const listed = next.paths().some((path) => path.endsWith('.seg'));
        if (listed) {
          const { lastSeq } = await verifyLog(next, DIR);
          expect(lastSeq, where).toBeGreaterThanOrEqual(seq);
          const old = next.copy({ names: true, sector: () => true });
          const again = await Chronicle.open(engineOn(asOlderVersion(old, (await filesOf(old)).spare)));
          expect(again.state.lastSeq, where).toBe(lastSeq);
        }
        const again = await Chronicle.open(engineOn(next));
        expect(again.state.lastSeq, where).toBeGreaterThanOrEqual(seq);
        for (let i = 0; i < 3; i++) await again.live();
        const third = await Chronicle.open(engineOn(next.afterPowerCut()));
        expect(third.hash, where).toBe(again.hash);
      }
    }
  }, 120_000);

  it('when compactions failed and their numbers are lost', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    let failed = 0;
    for (let i = 0; i < 60; i++) {
      await chronicle.live();
      disk.gate = ({ path }) => {
        if (path.endsWith('.ckpt.tmp')) throw new Error('injected');
      };
      if (chronicle.log.wantsCompaction && (await errorOf(chronicle.compact())) !== null) failed += 1;
      disk.gate = () => {};
      const left = disk.copy();
      const { spare } = await filesOf(left);
      for (const copy of [left, asOlderVersion(left.copy(), spare)]) {
        const again = await Chronicle.open(engineOn(copy));
        expect(again.hash).toBe(chronicle.hash);
      }
    }
    expect(failed).toBeGreaterThan(3);
  });
});
