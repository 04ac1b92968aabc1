// The documents, held against the code: what they list is what there is, and what they point to exists. A table that is
// copied by hand drifts; this is what notices.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { INVARIANTS } from '../src/core/invariants.ts';
import { REFUSALS } from '../src/core/refusals.ts';
import { REQUESTS } from '../src/protocol/requests.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The sections of a document under headings of one level, by their titles. */
function sections(text: string, level: number): Map<string, string> {
  const found = new Map<string, string>();
  let title: string | null = null;
  for (const line of text.split('\n')) {
    const heading = /^(#+) (.*)$/.exec(line);
    if (heading && heading[1]!.length <= level) title = heading[1]!.length === level ? heading[2]! : null;
    else if (title !== null) found.set(title, `${found.get(title) ?? ''}${line}\n`);
  }
  return found;
}

function markdownBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return folder === '.' && entry.name !== 'docs' ? [] : markdownBelow(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

/** Headings as they are linked to: lower case, spaces as hyphens, everything else left out. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('docs/errors.md', () => {
  const errors = sections(read('docs/errors.md'), 2);

  it('has a heading for every code, in the order of the table', () => {
    const codes = [...errors.keys()].filter((title) => /^[A-Z_]+$/.test(title));
    expect(codes).toEqual(Object.keys(REFUSALS));
  });

  it.each(Object.entries(REFUSALS))(
    'says of %s what the table says, when it comes and what to do',
    (code, kind) => {
      const section = errors.get(code)!;
      expect(section.trim().split('\n')[0]).toBe(
        `> ${kind.says} (status ${kind.status}, retry: ${kind.retry})`,
      );
      expect(section).toContain('**When.**');
      expect(section).toContain('**What to do.**');
    },
  );
});

describe('docs/embedding.md', () => {
  const operations = sections(read('docs/embedding.md'), 3);

  it.each(Object.entries(REQUESTS))('describes %s with all its fields', (operation, schema) => {
    const section = operations.get(operation) ?? '';
    const missing = Object.keys(schema.properties).filter(
      (field) => !new RegExp(`\\b${field}\\b`).test(section),
    );
    expect(missing).toEqual([]);
  });
});

describe('docs/invariants.md', () => {
  it('has a row for every invariant, in their order and their words', () => {
    const rows = [...read('docs/invariants.md').matchAll(/^\| `(INV-[A-Z-]+)` \| (.*?) \| (.+) \|$/gm)];
    expect(rows.map(([, id, says]) => [id, says])).toEqual(Object.entries(INVARIANTS));
  });
});

describe('docs/decisions', () => {
  const files = readdirSync(join(root, 'docs/decisions')).filter((name) => name !== 'README.md');

  it('are numbered without gaps', () => {
    const numbers = files.sort().map((name) => name.slice(0, 5));
    expect(numbers).toEqual(files.map((_, index) => `${String(index + 1).padStart(4, '0')}-`));
  });

  it.each(files)('%s has a status and the four sections', (name) => {
    const text = read(join('docs/decisions', name));
    expect(text).toMatch(
      new RegExp(`^# ${name.slice(0, 4)} .+\n\nStatus: (accepted|superseded by \\d{4})\n`),
    );
    const parts = sections(text, 2);
    expect([...parts.keys()]).toEqual(['Context', 'Decision', 'Alternatives', 'Consequences']);
    for (const part of parts.values()) expect(part.trim()).not.toBe('');
  });

  it('are all in the index, with their titles', () => {
    const index = read('docs/decisions/README.md');
    for (const name of files) {
      const title = /^# \d{4} (.*)$/m.exec(read(join('docs/decisions', name)))![1];
      expect(index).toContain(`| [${name.slice(0, 4)}](${name}) | ${title} |`);
    }
  });

  it('have one for every runtime dependency', () => {
    const { dependencies, optionalDependencies } = JSON.parse(read('package.json'));
    const titles = files.map((name) => read(join('docs/decisions', name)).split('\n')[0]!);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      expect(titles.filter((title) => title.endsWith(`untime dependency: ${name}`))).toHaveLength(1);
    }
  });
});

describe('the documents', () => {
  it.each(markdownBelow('.'))('%s points only to what is there', (path) => {
    const text = read(path).replaceAll(/```[\s\S]*?```/g, '');
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target!)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const full = file === '' ? join(root, path) : join(root, dirname(path), file);
        if (relative(root, full).startsWith('..') || !existsSync(full)) return true;
        return anchor !== undefined && !anchorsOf(readFileSync(full, 'utf8')).includes(anchor);
      });
    expect(broken).toEqual([]);
  });

  it('name files of the repository that exist', () => {
    const named = /`((?:src|test|docs|examples|scripts)\/[\w./-]+\.(?:ts|mjs|md))`/g;
    const missing = markdownBelow('.').flatMap((path) =>
      [...read(path).matchAll(named)]
        .map(([, file]) => file!)
        .filter((file) => !existsSync(join(root, file))),
    );
    expect(missing).toEqual([]);
  });
});

describe('README.md', () => {
  it('names the two commands', () => {
    expect(read('README.md')).toContain('npm start');
    expect(read('README.md')).toContain('npm test');
  });
});
