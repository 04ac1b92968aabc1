// A backup and what is restored from it lie apart, whatever their paths look like.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeFiles } from '../../world/node-files.ts';
import { assertSeparate } from './separate-dirs.ts';

let parent = '';
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'leasehold-apart-'));
  mkdirSync(join(parent, 'backup'));
  symlinkSync(join(parent, 'backup'), join(parent, 'link'));
});
afterEach(() => rmSync(parent, { recursive: true }));

const apart = (dir: string) => assertSeparate(nodeFiles, join(parent, 'backup'), join(parent, dir));

describe('a directory to restore into', () => {
  it.each(['new', 'backup-2', '..backup', 'deep/down/new'])('may be %s beside the backup', async (dir) => {
    await apart(dir);
  });

  it.each([
    'backup',
    'backup/new',
    'backup/..new',
    'backup/deep/new',
    '.',
    'link',
    'link/new',
    'link/deep/new',
  ])('may not be %s, also where a link hides it', async (dir) => {
    await expect(apart(dir)).rejects.toMatchObject({ name: 'OverlappingDirsError' });
  });
});
