// docs/invariants.md against the code: the same invariants in the same words, and no file or function that is not there.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { INVARIANTS } from '../../src/core/invariants.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const page = readFileSync(join(root, 'docs', 'invariants.md'), 'utf8');
const core = join(root, 'src', 'core');

const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `INV-'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, id, says, enforced, shown]) => ({
    id: id!.replaceAll('`', ''),
    says: says!,
    enforced: enforced!,
    shown: shown!,
  }));

const FILES = /\[`([^`]+\.ts)`\]\(\.\.\/src\/core\/\1\)/g;
const filesIn = (cell: string): string[] => [...cell.matchAll(FILES)].map(([, file]) => file!);

describe('docs/invariants.md', () => {
  it('lists the invariants of the code, in their order and words', () => {
    expect(rows.map(({ id, says }) => [id, says])).toEqual(Object.entries(INVARIANTS));
  });

  it.each(rows)('$id is enforced by code that is there', ({ enforced }) => {
    const files = filesIn(enforced);
    expect(files.length).toBeGreaterThan(0);
    const source = files.map((file) => readFileSync(join(core, file), 'utf8')).join('\n');
    const functions = [...enforced.replaceAll(FILES, '').matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    for (const name of functions) expect(source).toMatch(new RegExp(`\\b${name}\\b`));
  });

  it.each(rows)('$id is shown by tests that are there', ({ shown }) => {
    const files = filesIn(shown);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files)
      expect(file.endsWith('.test.ts') && existsSync(join(core, file)), file).toBe(true);
  });

  it('mentions no other invariant', () => {
    const mentioned = new Set(page.match(/INV-[A-Z]+(-[A-Z]+)*/g));
    expect([...mentioned].filter((id) => !(id in INVARIANTS))).toEqual([]);
  });
});
