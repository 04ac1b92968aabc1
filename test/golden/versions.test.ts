// What an epoch says about its log decides whether it is opened: older logs are, newer ones are refused by name and left alone.
import { describe, expect, it } from 'vitest';
import { LOG_FORMAT, LOG_VERSION } from '../../src/core/state.ts';
import { fileEngine } from '../../src/engines/file/file-engine.ts';
import { LogTooNewError } from '../../src/engines/log.ts';
import { openWith } from '../../src/open.ts';
import { appendBatch, openHeard } from '../support/log-story.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { TestDisk } from '../support/test-disk.ts';

const engineOn = (files: TestDisk) => fileEngine({ dir: '/data', files, segmentBytes: 64 * 1024 });

/** A disk with a log whose only epoch says this about it. */
async function written(format: string, version: number): Promise<TestDisk> {
  const disk = new TestDisk();
  const { log } = await openHeard(engineOn(disk));
  await appendBatch(log, 1, () => ({ type: 'EpochStarted', epoch: 1, format, version, restored: false }));
  await log.close();
  return disk.afterPowerCut();
}

const contentOf = (disk: TestDisk) =>
  disk
    .paths()
    .filter((path) => path.endsWith('.seg'))
    .map((path) => [path, disk.contentOf(path).toString('base64')]);

describe('a log of this version or an older one', () => {
  it('is opened, and is of this version from then on', async () => {
    for (let version = 1; version <= LOG_VERSION; version++) {
      const disk = await written(LOG_FORMAT, version);
      const world = new ManualWorld();
      const lh = await world.finish(openWith(engineOn(disk), world));
      await world.finish(lh.close());
      const { heard } = await openHeard(engineOn(disk.afterPowerCut()));
      const versions = heard.logged.map(({ entry }) => entry.type === 'EpochStarted' && entry.version);
      expect(versions).toEqual([version, LOG_VERSION]);
    }
  });
});

describe('a log of a newer version, or of another program', () => {
  it.each([
    [LOG_FORMAT, LOG_VERSION + 1],
    ['freehold', 1],
  ])('%s version %d is refused by name, and not a byte of it is changed', async (format, version) => {
    const disk = await written(format, version);
    const before = contentOf(disk);
    const world = new ManualWorld();
    const opening = world.finish(openWith(engineOn(disk), world));
    await expect(opening).rejects.toThrow(LogTooNewError);
    await expect(opening).rejects.toThrow(
      `The log was written as ${format} version ${version}; this program reads ${LOG_FORMAT} version ${LOG_VERSION}.`,
    );
    expect(contentOf(disk)).toEqual(before);
  });
});
