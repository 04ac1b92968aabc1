// The tarball that `npm publish` would send: what is in it, and how bundlers, Node and TypeScript resolve its entry points.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkPackage, createPackageFromTarballData, type Package } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
let dir: string;
let tarball: Uint8Array<ArrayBuffer>;
let packed: Package;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-tarball-'));
  // Without scripts, because `prepack` rebuilds dist/ under the feet of the other tests.
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', dir], { cwd: ROOT, stdio: 'pipe' });
  tarball = new Uint8Array(readFileSync(join(dir, `leasehold-${manifest.version}.tgz`)));
  packed = createPackageFromTarballData(tarball);
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('the tarball', () => {
  it('has the built files, the documents and what deploys them, and neither tests nor sources', () => {
    const files = packed.listFiles().map((path) => path.replace('/node_modules/leasehold/', ''));
    const outside = files.filter((path) => !/^(deploy|dist|docs)\//.test(path)).sort();
    expect(outside).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
    expect(files.filter((path) => /\.test\.|(?<!\.d)\.[cm]?ts$|\.tsx$|\.built$/.test(path))).toEqual([]);
    expect(files).toContain('dist/cli/main.js');
    expect(files).toContain('docs/leasehold.1');
    expect(files).toContain('deploy/systemd/leasehold.service');
  });

  it('names its manual page in a list: npm installs none that is named by a string', () => {
    expect(manifest.man).toEqual(['./docs/leasehold.1']);
  });

  it('has no mistake that publint knows', async () => {
    const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer } });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it('resolves every entry point to its types from ES modules, CommonJS and bundlers', async () => {
    const analysis = await checkPackage(packed);
    if (!analysis.types) throw new Error('The tarball has no types.');
    expect(Object.keys(analysis.entrypoints).sort()).toEqual(Object.keys(manifest.exports).sort());
    expect(analysis.problems).toEqual([]);
  });
});
