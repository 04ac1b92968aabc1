// The documents, held against the code: what they list is what there is, and what they point to exists. A table that is
// copied by hand drifts; this is what notices.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CLIENT_CODES } from '../src/cli/client-codes.ts';
import { type Retry, retryOf } from '../src/client/retries.ts';
import { INVARIANTS } from '../src/core/invariants.ts';
import { REFUSALS } from '../src/core/refusals.ts';
import { CHECKS } from '../src/operations/checks.ts';
import { openApiDocument } from '../src/operations/openapi/openapi.ts';
import { PAGES } from '../src/operations/pages.ts';
import { REFUSALS_OF_ALL } from '../src/operations/refusals-of.ts';
import { OPERATIONS, type Operation, operationOf } from '../src/operations/table.ts';
import {
  AROUND,
  type Block,
  blocksOf,
  NOT_RUN,
  NOT_RUN_PAGES,
  programOf,
  RUN_BY,
} from './support/page-blocks.ts';

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

/** Paragraphs without their line breaks, links as their text. */
const paragraphsOf = (text: string): string[] =>
  text
    .split(/\n{2,}/)
    .map((part) => part.trim().replaceAll(/\s+/g, ' '))
    .map((part) => part.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'));

/** Headings as they are linked to: lower case, spaces as hyphens, everything else left out. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

const NAMES = Object.keys(OPERATIONS) as Operation[];
const isOperationName = (title: string): boolean => /^[a-z]+\.[a-z_]+$/.test(title);
const codesIn = (text: string): string[] =>
  [...text.matchAll(/`([A-Z_]+)`/g)].map(([, word]) => word!).filter((word) => Object.hasOwn(REFUSALS, word));

/** A query has whole numbers as digits. */
const numbersIn = ({ wait_ms, limit }: Readonly<Record<string, string>>): object => ({
  ...(wait_ms === undefined ? {} : { wait_ms: Number(wait_ms) }),
  ...(limit === undefined ? {} : { limit: Number(limit) }),
});

describe('docs/http.md', () => {
  const text = read('docs/http.md');
  const operations = sections(text, 3);

  it('lists the same operations and codes as the OpenAPI text', () => {
    const { paths, components } = openApiDocument('0.0.0') as {
      paths: Record<string, Record<string, { operationId: string }>>;
      components: { schemas: { Problem: { properties: { code: { enum: string[] } } } } };
    };
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    const titles = [...operations.keys()].filter(isOperationName);
    expect(ids.filter(isOperationName).sort()).toEqual(titles.sort());
    expect([...new Set(codesIn(text))].sort()).toEqual(
      [...components.schemas.Problem.properties.code.enum].sort(),
    );
  });

  it('says what can meet every operation', () => {
    const [said] = paragraphsOf(text).filter((part) => part.startsWith('Any request can meet'));
    expect(codesIn(said!).sort()).toEqual(
      [...REFUSALS_OF_ALL, 'ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED'].sort(),
    );
  });

  it('says once what every look takes', () => {
    const looks = NAMES.filter((operation) => 'stale' in OPERATIONS[operation].request.properties);
    expect(looks).toEqual(NAMES.filter((operation) => OPERATIONS[operation].method === 'GET'));
    expect(text).toContain('Every operation that reads takes `stale` in its query');
  });

  it('lists every page with its method, path and scope', () => {
    const rows = [...text.matchAll(/^\| (\w+) \| `([A-Z]+) (\S+)` \| `?([\w:]+)`? \|$/gm)];
    expect(rows.map(([, ...row]) => row)).toEqual(
      Object.entries(PAGES).map(([name, { method, path, scope }]) => [name, method, path, scope ?? 'none']),
    );
  });

  describe.each(NAMES)('%s', (operation) => {
    const section = operations.get(operation) ?? '';
    const route = operationOf(operation);

    it('shows a call with curl that is accepted', () => {
      const calls = [...section.matchAll(/```sh\ncurl (.*)\n```/g)];
      expect(calls).toHaveLength(1);
      const call = /^(?:-X ([A-Z]+) ?)?(?:--json '(.*)' )?"?\$LEASEHOLD_URL([^?"]+)\??([^"]*)"?$/.exec(
        calls[0]![1]!,
      );
      const [, method, body, path = '', query] = call ?? [];
      expect(method ?? (body === undefined ? 'GET' : 'POST')).toBe(route.method);
      const pattern = new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
      expect(path).toMatch(pattern);
      const asked = Object.fromEntries(new URLSearchParams(query));
      const request = {
        ...(body === undefined ? {} : (JSON.parse(body) as object)),
        ...pattern.exec(path)!.groups,
        ...asked,
        ...numbersIn(asked),
      };
      expect(CHECKS[operation].accepts(request) ? 'accepted' : CHECKS[operation].explain(request)).toBe(
        'accepted',
      );
    });
  });
});

describe('docs/errors.md', () => {
  it('names every operation that a full disk refuses', () => {
    const told = /call would create or set something: (.*?)\. /.exec(
      sections(read('docs/errors.md'), 2).get('DISK_FULL') ?? '',
    );
    const names = [...(told?.[1] ?? '').matchAll(/`([a-z_.]+)`/g)].map(([, name]) => name!);
    const refused = NAMES.filter((name) => 'refusedWhenFull' in operationOf(name));
    expect(names.sort()).toEqual(refused.sort());
  });
});

describe('the codes of the client', () => {
  it('are all in docs/errors.md', () => {
    const section = sections(read('docs/errors.md'), 2).get('Codes of the client') ?? '';
    const codes = [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
    expect(codes).toEqual(Object.keys(CLIENT_CODES));
  });
});

describe('docs/guides/client.md', () => {
  it('says of every operation whether it is sent again after a lost reply, and under which condition', () => {
    const rows = [...read('docs/guides/client.md').matchAll(/^\| (.+?) \| (yes|only with `(\w+)`) \| /gm)];
    const told = new Map<string, string>(
      rows.flatMap(([, names = '', , field]) =>
        [...names.matchAll(/`([a-z_.]+)`/g)].map(([, name]): [string, string] => [
          name!,
          field === undefined ? 'always' : `with ${field}`,
        ]),
      ),
    );
    const changes = NAMES.filter((operation) => OPERATIONS[operation].method !== 'GET');
    const safe = ({ needs }: Retry = {}): string => (needs === undefined ? 'always' : `with ${needs}`);
    expect(told).toEqual(new Map(changes.map((operation) => [operation, safe(retryOf(operation))])));
    const reads = NAMES.filter((operation) => OPERATIONS[operation].method === 'GET');
    expect(reads.filter((operation) => retryOf(operation)?.needs !== undefined)).toEqual([]);
  });
});

describe('docs/invariants.md', () => {
  it('has a row for every invariant, in their order and their words', () => {
    const rows = [...read('docs/invariants.md').matchAll(/^\| `(INV-[A-Z-]+)` \| (.*?) \| (.+) \|$/gm)];
    expect(rows.map(([, id, says]) => [id, says])).toEqual(Object.entries(INVARIANTS));
  });
});

describe('docs/decisions', () => {
  const files = readdirSync(join(root, 'docs/decisions'))
    .filter((name) => name !== 'README.md')
    .sort();

  it('have a number each; every number up to the highest is a file, was merged, or is listed as not used', () => {
    const numbers = files.map((name) => /^(\d{4})-/.exec(name)?.[1]);
    expect(numbers).not.toContain(undefined);
    expect(new Set(numbers).size).toBe(files.length);
    const readme = read('docs/decisions/README.md');
    const merged = [...readme.matchAll(/^\| (\d{4}(?:, \d{4})*) \|/gm)].flatMap(([, list]) =>
      list!.split(', '),
    );
    expect(merged.filter((number) => numbers.includes(number))).toEqual([]);
    const unused = /^Not used so far: (.+)\.$/m
      .exec(readme)![1]!
      .split(', ')
      .map((range) => range.split(' to '));
    const isKnown = (number: string): boolean =>
      numbers.includes(number) ||
      merged.includes(number) ||
      unused.some(([first, last = first]) => first! <= number && number <= last!);
    const all = Array.from({ length: Number(numbers.at(-1)) }, (_, index) => `${index + 1}`.padStart(4, '0'));
    expect(all.filter((number) => !isKnown(number))).toEqual([]);
  });

  it.each(files)(
    '%s has a status and its sections, the last only where it says what is not obvious',
    (name) => {
      const text = read(join('docs/decisions', name));
      expect(text).toMatch(
        new RegExp(`^# ${name.slice(0, 4)} .+\n\nStatus: (accepted|superseded by \\d{4})\n`),
      );
      const parts = sections(text, 2);
      const [context, decision, alternatives, ...last] = parts.keys();
      expect([context, decision, alternatives]).toEqual(['Context', 'Decision', 'Alternatives']);
      expect([[], ['Consequences']]).toContainEqual(last);
      for (const part of parts.values()) expect(part.trim()).not.toBe('');
    },
  );

  it('are all in the index, with their titles', () => {
    const index = read('docs/decisions/README.md');
    for (const name of files) {
      const title = /^# \d{4} (.*)$/m.exec(read(join('docs/decisions', name)))![1];
      expect(index).toContain(`| [${name.slice(0, 4)}](${name}) | ${title} |`);
    }
  });

  it('name every runtime dependency and its kind', () => {
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(read('package.json'));
    const rows = [
      ...read('docs/decisions/0070-dependencies.md').matchAll(/^\| `(.+?)` \| (.+?) \| .+ \|$/gm),
    ];
    const kinds = (packages: object, kind: string) => Object.keys(packages).map((name) => [name, kind]);
    expect(rows.map(([, name, kind]) => [name, kind]).sort()).toEqual(
      [
        ...kinds(dependencies, 'dependency'),
        ...kinds(optionalDependencies, 'optional dependency'),
        ...kinds(peerDependencies, 'optional peer dependency'),
      ].sort(),
    );
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

describe('the code blocks of the documents', () => {
  /** What `test/support/page-bench.ts` does not know how to run needs a row of its own. */
  const isRunnable = ({ language }: Block): boolean => ['js', 'ts', 'sh', 'sql'].includes(language);
  const linesOf = ({ text }: Block): string[] =>
    text.split('\n').map((line) => line.replace(/\s+#\s.*$/, ''));
  const pages = markdownBelow('.').filter((page) => blocksOf(page).length > 0);

  it('are run by a test, or stand in a table with the reason', () => {
    expect(pages.toSorted()).toEqual([...Object.keys(RUN_BY), ...Object.keys(NOT_RUN_PAGES)].sort());
  });

  it.each([...new Set(Object.values(RUN_BY))])('are run by %s', (test) => {
    expect(read(test)).toContain('it.each(pagesRunBy(import.meta.url))');
  });

  it.each(Object.keys(RUN_BY))('are all of a kind that is run in %s', (page) => {
    const reasons = NOT_RUN.filter((row) => row.page === page).map(({ command }) => command);
    const strange = blocksOf(page).filter(
      (block) => !isRunnable(block) && !reasons.includes(linesOf(block)[0]!),
    );
    expect(strange).toEqual([]);
  });

  it('are what the rows about single commands and about programs around a block are for', () => {
    const unused = NOT_RUN.filter(
      ({ page, command }) => !blocksOf(page).some((block) => linesOf(block).includes(command)),
    );
    expect(unused).toEqual([]);
    const isFramed = (block: Block): boolean => programOf(block) !== block.text;
    const framed = AROUND.map(({ page, begins }) =>
      blocksOf(page).filter((block) => block.text.startsWith(`${begins}\n`) && isFramed(block)),
    );
    expect(framed.map((blocks) => blocks.length)).toEqual(AROUND.map(() => 1));
  });
});

describe('README.md', () => {
  it('names the two commands', () => {
    expect(read('README.md')).toContain('npm start');
    expect(read('README.md')).toContain('npm test');
  });
});
