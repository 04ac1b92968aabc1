// The documents, held against the code: what they list is what there is, and what they point to exists. A table that is
// copied by hand drifts; this is what notices.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CLIENT_CODES } from '../src/cli/client-codes.ts';
import { RETRIES, type Retry } from '../src/client/retries.ts';
import { INVARIANTS } from '../src/core/invariants.ts';
import { REFUSALS, type RefusalCode } from '../src/core/refusals.ts';
import { CHECKS } from '../src/protocol/checks.ts';
import { EXPLANATIONS } from '../src/protocol/explanations.ts';
import { openApiDocument } from '../src/protocol/openapi.ts';
import { REFUSALS_OF_ALL } from '../src/protocol/refusals-of.ts';
import { REPLIES } from '../src/protocol/replies.ts';
import { REQUESTS } from '../src/protocol/requests.ts';
import { type Operation, PAGES, ROUTES, type Route } from '../src/protocol/routes.ts';

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
      const paragraphs = paragraphsOf(section);
      const { when, todo } = EXPLANATIONS[code as RefusalCode];
      expect(paragraphs[1]).toBe(`**When.** ${when}`);
      expect(paragraphs[2]).toBe(`**What to do.** ${todo}`);
    },
  );
});

const OPERATIONS = Object.keys(ROUTES) as Operation[];
const isOperationName = (title: string): boolean => /^[a-z]+\.[a-z_]+$/.test(title);
const codesIn = (text: string): string[] =>
  [...text.matchAll(/`([A-Z_]+)`/g)].map(([, word]) => word!).filter((word) => Object.hasOwn(REFUSALS, word));

describe('docs/http.md', () => {
  const text = read('docs/http.md');
  const operations = sections(text, 3);

  it('has a heading for every operation and for nothing that is none', () => {
    const titles = [...operations.keys()].filter(isOperationName);
    expect(titles.sort()).toEqual([...OPERATIONS].sort());
  });

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
    const looks = OPERATIONS.filter((operation) => 'stale' in REQUESTS[operation].properties);
    expect(looks).toEqual(OPERATIONS.filter((operation) => ROUTES[operation].method === 'GET'));
    expect(text).toContain('Every operation that looks takes `stale` in its query');
  });

  it('lists every page with its method, path and scope', () => {
    const rows = [...text.matchAll(/^\| (\w+) \| `([A-Z]+) (\S+)` \| `?([\w:]+)`? \|$/gm)];
    expect(rows.map(([, ...row]) => row)).toEqual(
      Object.entries(PAGES).map(([name, { method, path, scope }]) => [name, method, path, scope ?? 'none']),
    );
  });

  describe.each(OPERATIONS)('%s', (operation) => {
    const section = operations.get(operation) ?? '';
    const paragraphs = paragraphsOf(section);
    const route: Route = ROUTES[operation];

    it('stands there with its method, path and scope', () => {
      const batch = route.batch ? ' · may stand in a batch' : '';
      const needs = route.scope === 'any' ? 'any token' : `scope \`${route.scope}\``;
      expect(paragraphs[0]).toBe(`\`${route.method} ${route.path}\` · ${needs}${batch}`);
    });

    it('has all its fields', () => {
      const prose = section
        .split('\n')
        .slice(2)
        .join('\n')
        .replaceAll(/```[\s\S]*?```/g, '');
      // What every look takes is said once for all of them.
      const fields = Object.keys(REQUESTS[operation].properties).filter((field) => field !== 'stale');
      expect(fields.filter((field) => !prose.includes(`\`${field}\``))).toEqual([]);
    });

    it('has all the fields of its reply, or says whose reply it has', () => {
      const like = /The reply is that of ([a-z]+\.[a-z_]+)/.exec(paragraphs.join(' '))?.[1];
      if (like !== undefined) {
        expect(Object.keys(REPLIES[like as Operation].properties)).toEqual(
          Object.keys(REPLIES[operation].properties),
        );
        return;
      }
      const [reply = ''] = paragraphs.filter((part) => part.startsWith('Reply'));
      const shape = /\{[^{}]*\}/.exec(reply)?.[0] ?? '';
      const named = [...shape.matchAll(/[a-z_]+\??/gi)].map(([name]) => name);
      const required = new Set<string>(REPLIES[operation].required ?? []);
      expect(named).toEqual(
        Object.keys(REPLIES[operation].properties).map((name) => (required.has(name) ? name : `${name}?`)),
      );
    });

    it('has its refusals and no others', () => {
      const [said = ''] = paragraphs.filter((part) => part.startsWith('Refused with'));
      expect(codesIn(said).sort()).toEqual([...route.refusals].sort());
      if (route.refusals.length === 0) expect(said).toBe('Refused with nothing of its own.');
    });

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
        ...(asked.wait_ms === undefined ? {} : { wait_ms: Number(asked.wait_ms) }),
      };
      expect(CHECKS[operation].accepts(request) ? 'accepted' : CHECKS[operation].explain(request)).toBe(
        'accepted',
      );
    });
  });
});

describe('the codes of the client', () => {
  it('are all in docs/errors.md', () => {
    const section = sections(read('docs/errors.md'), 2).get('Codes of the client') ?? '';
    const codes = [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
    expect(codes).toEqual(Object.keys(CLIENT_CODES));
  });
});

describe('docs/embedding.md', () => {
  it('has a call for every operation, with a link to what it takes and gives', () => {
    const rows = [
      ...read('docs/embedding.md').matchAll(/^\| `lh\.([\w.]+)\(.*?\)` \| \[([\w.]+)\]\((\S+)\) \|/gm),
    ];
    expect(rows.map(([, , operation]) => operation)).toEqual(OPERATIONS);
    for (const [, , operation, target] of rows) {
      expect(target).toBe(`http.md#${operation!.replaceAll('.', '')}`);
    }
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
    const changes = OPERATIONS.filter((operation) => ROUTES[operation].method !== 'GET');
    const safe = ({ needs }: Retry = {}): string => (needs === undefined ? 'always' : `with ${needs}`);
    expect(told).toEqual(new Map(changes.map((operation) => [operation, safe(RETRIES[operation])])));
    const reads = OPERATIONS.filter((operation) => ROUTES[operation].method === 'GET');
    expect(reads.filter((operation) => RETRIES[operation]?.needs !== undefined)).toEqual([]);
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
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(read('package.json'));
    const titles = files.map((name) => read(join('docs/decisions', name)).split('\n')[0]!);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      expect(titles.filter((title) => title.endsWith(`untime dependency: ${name}`))).toHaveLength(1);
    }
    for (const name of Object.keys(peerDependencies)) {
      expect(titles.filter((title) => title.endsWith(`peer dependency: ${name}`))).toHaveLength(1);
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
