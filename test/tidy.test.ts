// The house rules as data. First the tables, then each rule held against the whole repository, then each rule held
// against small pieces of bad code: a rule that cannot fail protects nothing. How the rules read code is in test/tidy/.
import { describe, expect, it } from 'vitest';
import { leftoverRule, lengthRule, nameRule, openingRule } from './tidy/files.ts';
import type { Permission } from './tidy/imports.ts';
import { importRule } from './tidy/imports.ts';
import type { Seams } from './tidy/names.ts';
import { pureRule, seamRule } from './tidy/names.ts';
import type { Rule } from './tidy/source.ts';
import { readSources, sourceOf } from './tidy/source.ts';
import { testRule } from './tidy/tests.ts';

/** Who may import whom. The rows read as the path of a request; a new folder in src needs a row of its own. */
const MAY_IMPORT: Record<string, Permission> = {
  console: { folders: ['client', 'browser.ts'], packages: ['preact', '@preact/signals'], node: false },
  client: { folders: ['protocol', 'seams'], types: ['core', 'operations'], node: false },
  protocol: {
    folders: [],
    types: ['core'],
    files: ['src/core/refusals.ts', 'src/core/reserved-names.ts'],
    node: false,
  },
  server: {
    folders: ['protocol', 'operations', 'authority', 'core', 'engines', 'seams', 'open.ts'],
    packages: ['fastify', 'pino', 'ws'],
    node: true,
  },
  operations: {
    folders: ['authority', 'core', 'engines', 'protocol', 'seams'],
    // The way to an authority in the same process looks like a client's transport.
    files: ['src/client/call-options.ts', 'src/client/closed.ts', 'src/protocol/leasehold-error.ts'],
    types: ['client'],
    packages: ['@sinclair/typebox'],
    node: true,
  },
  authority: { folders: ['core', 'engines', 'seams'], packages: ['croner'], node: true },
  core: { folders: [], node: false },
  // What opening a log fails with is an error of the handle that opens it.
  engines: { folders: ['core', 'seams'], files: ['src/protocol/leasehold-error.ts'], node: true },
  keeper: { folders: ['seams'], node: true },
  sessions: {
    folders: ['client', 'keeper', 'protocol', 'seams'],
    types: ['operations'],
    // By the jump of its positions an orchestrator recognizes a restored log.
    files: ['src/core/reserved-names.ts', 'src/engines/restored-seq.ts', 'src/operations/schema-check.ts'],
    packages: ['@sinclair/typebox'],
    node: true,
  },
  postgres: {
    folders: ['seams'],
    files: [
      'src/protocol/texts.ts',
      'src/protocol/json.ts',
      'src/protocol/limits.ts',
      'src/protocol/leasehold-error.ts',
      'src/protocol/problem.ts',
      'src/client/durations.ts',
      'src/client/task-request.ts',
      'src/client/unknown-options.ts',
      // What the server would refuse is refused while the caller can roll back.
      'src/operations/task-create-check.ts',
    ],
    types: ['client'],
    node: true,
  },
  cli: { folders: 'any', packages: ['commander', 'pg'], node: true },
  seams: { folders: [], node: false },
  world: {
    folders: [],
    types: ['seams', 'client'],
    packages: ['@opentelemetry/api', 'koffi', 'pg', 'undici', 'ws'],
    node: true,
  },
  testing: {
    folders: ['client', 'protocol', 'operations', 'engines', 'seams', 'world', 'open.ts'],
    files: ['src/core/refusals.ts'],
    node: false,
  },
  'open.ts': {
    folders: ['operations', 'client', 'authority', 'engines', 'core', 'protocol', 'seams', 'world'],
    node: true,
  },
  'sessions.ts': { folders: ['sessions', 'world'], types: ['client'], node: false },
  'testing.ts': { folders: ['testing'], node: false },
  'postgres.ts': { folders: ['client', 'postgres', 'protocol', 'world'], types: ['seams'], node: false },
  'browser.ts': { folders: ['client', 'protocol', 'world'], types: ['core', 'operations'], node: false },
  'client-node.ts': { folders: ['client', 'world', 'browser.ts'], node: false },
  'index.ts': {
    folders: ['open.ts', 'client', 'protocol', 'engines', 'world', 'client-node.ts'],
    types: 'any',
    node: false,
  },
};

/** What tests beside the sources may import on top of that. The rules themselves are tested without the world. */
const TESTS_MAY_ALSO_IMPORT: Record<string, Permission> = {
  core: { folders: [], packages: ['vitest', 'fast-check'], node: false, outside: ['test/support'] },
  client: {
    folders: ['world', 'operations'],
    packages: ['vitest', 'fast-check'],
    node: true,
    outside: ['test/support'],
  },
  operations: {
    folders: ['world', 'client', 'open.ts'],
    packages: ['vitest', 'fast-check'],
    node: true,
    outside: ['test/support'],
  },
  '*': { folders: ['world'], packages: ['vitest', 'fast-check'], node: true, outside: ['test/support'] },
};

/** Time, chance, disk, network and processes are arguments; `src/world` holds the only real ones. */
const SEAMS: Seams = {
  // The console is a page: no simulator runs it.
  free: ['world', 'console'],
  globals: ['Date', 'performance', 'setTimeout', 'setInterval', 'setImmediate', 'fetch'],
  members: ['Math.random', 'process.hrtime', 'AbortSignal.timeout'],
  anywhere: ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'getRandomValues'],
  modules: ['fs', 'fs/promises', 'child_process', 'timers', 'timers/promises', 'perf_hooks'],
};

const PURE_FOLDERS = ['core'];
const NOT_IN_PURE_FOLDERS = ['Promise', 'PromiseLike', 'Buffer', 'process', 'Date'];
const NAMES_WITHOUT_AN_IDEA = ['util', 'utils', 'helper', 'helpers', 'common', 'misc'];
const LEFTOVERS = ['TODO', 'FIXME', 'XXX', 'HACK'];
const SOURCE_LINES_MAX = 500;

const EVERYWHERE = ['src', 'test', 'scripts', 'bench', 'examples'];

type HouseRule = {
  readonly says: string;
  readonly where: readonly string[];
  readonly rule: Rule;
  /** Path and text; every one of them must be complained about. */
  readonly bad: readonly (readonly [path: string, text: string])[];
  readonly good: readonly (readonly [path: string, text: string])[];
};

const HOUSE_RULES: readonly HouseRule[] = [
  {
    says: 'imports follow the table',
    where: ['src'],
    rule: importRule(MAY_IMPORT, TESTS_MAY_ALSO_IMPORT),
    bad: [
      ['src/core/decide.ts', "import { openLog } from '../engines/log.ts';"],
      ['src/core/decide.ts', "import type { Log } from '../engines/log.ts';"],
      ['src/core/decide.ts', "import { createHash } from 'node:crypto';"],
      ['src/core/decide.ts', "import { Type } from '@sinclair/typebox';"],
      ['src/core/decide.test.ts', "import { openFiles } from '../world/files.ts';"],
      ['src/core/decide.test.ts', "import { tmpdir } from 'node:os';"],
      ['src/core/decide.ts', "import { given } from '../../test/support/given.ts';"],
      ['src/engines/log.ts', "export { loop } from '../authority/loop.ts';"],
      ['src/engines/log.ts', "const files = await import('../world/files.ts');"],
      ['src/engines/log.ts', "let files: import('../world/files.ts').Files;"],
      ['src/protocol/table.ts', "import { decide } from '../core/decide.ts';"],
      ['src/client/connect.ts', "import { OPERATIONS } from '../operations/table.ts';"],
      ['src/client/connect.ts', "import { Type } from '@sinclair/typebox';"],
      ['src/protocol/table.ts', "import { type Task } from '../core/state.ts';"],
      ['src/client/connect.ts', "import { createHash } from 'node:crypto';"],
      ['src/client/connect.ts', "import { createHash } from 'crypto';"],
      ['src/server/serve.ts', "import { Command } from 'commander';"],
      ['src/server/serve.ts', "import { Value } from '@sinclair/typebox/value';"],
      ['src/engines/file/lock.ts', "const koffi = require('koffi');"],
      ['src/world/clock.ts', "import { Millis } from '../core/time.ts';"],
      ['src/index.ts', "export { decide } from './core/decide.ts';"],
      ['src/plumbing/pipe.ts', 'export {};'],
      ['src/cli/main.ts', "import manifest from '../../package.json' with { type: 'json' };"],
    ],
    good: [
      ['src/core/decide.ts', "import { apply } from './apply.ts';\n// import '../engines/log.ts'"],
      [
        'src/core/decide.test.ts',
        "import { it } from 'vitest';\nimport { given } from '../../test/support/given.ts';",
      ],
      ['src/engines/log.test.ts', "import { openFiles } from '../world/files.ts';"],
      ['src/engines/log.ts', "import { crc32 } from 'node:zlib';\nimport { apply } from '../core/apply.ts';"],
      ['src/protocol/table.ts', "import type { Task } from '../core/state.ts';"],
      ['src/protocol/table.ts', "import { REFUSALS } from '../core/refusals.ts';"],
      [
        'src/cli/main.ts',
        "import { Command } from 'commander';\nimport { serve } from '../server/serve.ts';",
      ],
      ['src/index.ts', "export { open } from './open.ts';\nexport type { Task } from './core/state.ts';"],
      ['src/world/lock.ts', "const koffi = await import('koffi');"],
    ],
  },
  {
    says: 'only src/world touches the world',
    where: ['src'],
    rule: seamRule(SEAMS),
    bad: [
      ['src/authority/loop.ts', 'const nowMs = Date.now();'],
      ['src/authority/loop.ts', 'const at = new Date();'],
      ['src/authority/loop.ts', 'const at = new Date;'],
      ['src/authority/loop.ts', 'class Moment extends Date {}'],
      ['src/authority/loop.ts', 'const from = performance.now();'],
      ['src/authority/loop.ts', 'const from = process.hrtime.bigint();'],
      ['src/authority/loop.ts', 'setTimeout(() => {}, 1);'],
      ['src/authority/loop.ts', 'const timers = { setInterval };'],
      ['src/authority/loop.ts', 'const wait = setImmediate as unknown;'],
      ['src/authority/loop.ts', 'globalThis.setTimeout(() => {}, 1);'],
      ['src/authority/loop.ts', "globalThis['fetch']('/');"],
      ['src/authority/loop.ts', 'const { setTimeout: later } = globalThis;'],
      ['src/authority/loop.ts', 'const signal = AbortSignal.timeout(5);'],
      ['src/authority/ids.ts', 'const id = Math.random();'],
      ['src/authority/ids.ts', 'const { random } = Math;'],
      ['src/authority/ids.ts', "import { randomUUID } from 'node:crypto';"],
      ['src/authority/ids.ts', 'const bytes = crypto.getRandomValues(new Uint8Array(8));'],
      ['src/engines/file/log.ts', "import { open } from 'node:fs/promises';"],
      ['src/engines/file/log.ts', "import fs from 'fs';"],
      ['src/engines/file/log.ts', "const fs = process.getBuiltinModule('node:fs');"],
      ['src/sessions/pipelines.ts', "import { spawn } from 'node:child_process';"],
      ['src/client/connect.ts', "await fetch('/v1/batch');"],
      ['src/client/connect.ts', 'const send = options.fetch ?? fetch;'],
      ['src/index.ts', 'export const startedAtMs = Date.now();'],
    ],
    good: [
      ['src/world/clock.ts', 'export const nowMs = () => Date.now();'],
      [
        'src/protocol/instant.ts',
        'const text = new Date(0).toISOString() + Date.UTC(1970, 0) + Date.parse("1970");',
      ],
      ['src/authority/loop.ts', '// Date.now() and setTimeout would be wrong here.'],
      ['src/authority/loop.ts', "const says = 'Date.now() fetch(';"],
      ['src/authority/loop.ts', 'const timer = timers.setTimeout(wake, delayMs);'],
      ['src/authority/loop.ts', 'let timer: ReturnType<typeof setTimeout> | NodeJS.Timeout;'],
      [
        'src/authority/loop.ts',
        'export type Timers = { setTimeout(wake: () => void): void; readonly fetch: 1 };',
      ],
      ['src/authority/loop.ts', 'const transport = { fetch: send, performance: 1 };'],
      ['src/engines/file/log.ts', "import type { Stats } from 'node:fs';"],
      ['src/authority/loop.test.ts', 'const nowMs = Date.now();'],
    ],
  },
  {
    says: 'src/core is plain, synchronous computation',
    where: ['src'],
    rule: pureRule(PURE_FOLDERS, NOT_IN_PURE_FOLDERS),
    bad: [
      ['src/core/decide.ts', 'export async function decide() {}'],
      ['src/core/decide.ts', 'const decide = async () => 1;'],
      ['src/core/decide.ts', 'class Rules { async decide() {} }'],
      ['src/core/decide.ts', 'await something;'],
      ['src/core/decide.ts', 'for await (const entry of log) apply(entry);'],
      ['src/core/decide.ts', 'const done = Promise.resolve();'],
      ['src/core/decide.ts', 'export type Decide = () => Promise<void>;'],
      ['src/core/decide.ts', 'const bytes = Buffer.alloc(1);'],
      ['src/core/decide.ts', 'process.exit(1);'],
    ],
    good: [
      ['src/core/decide.ts', '// A Promise would let another command in between; await nothing here.'],
      ['src/core/decide.ts', 'const state = { process: 1 };\nexport const id = state.process;'],
      ['src/core/decide.test.ts', 'await Promise.resolve();'],
      ['src/engines/log.ts', 'export async function append() {}'],
    ],
  },
  {
    says: 'files are kebab-case and named after an idea',
    where: EVERYWHERE,
    rule: nameRule(NAMES_WITHOUT_AN_IDEA),
    bad: [
      ['src/core/utils.ts', ''],
      ['src/core/helpers.test.ts', ''],
      ['src/common/task.ts', ''],
      ['test/support/misc.ts', ''],
      ['src/core/taskTable.ts', ''],
      ['src/core/TaskTable.ts', ''],
      ['src/core/task_table.ts', ''],
    ],
    good: [
      ['src/core/task-table.ts', ''],
      ['src/core/task-table.test.ts', ''],
      ['src/core/common-prefix.ts', ''],
    ],
  },
  {
    says: `no source file is longer than ${SOURCE_LINES_MAX} lines`,
    where: ['src'],
    rule: lengthRule(SOURCE_LINES_MAX),
    bad: [['src/core/decide.ts', '//\n'.repeat(SOURCE_LINES_MAX + 1)]],
    good: [
      ['src/core/decide.ts', '//\n'.repeat(SOURCE_LINES_MAX)],
      ['src/core/decide.test.ts', '//\n'.repeat(SOURCE_LINES_MAX + 1)],
    ],
  },
  {
    says: 'every file opens with what it is',
    where: EVERYWHERE,
    rule: openingRule,
    bad: [
      ['src/core/decide.ts', "import { apply } from './apply.ts';\n// The rules."],
      ['src/core/decide.ts', ''],
    ],
    good: [
      ['src/core/decide.ts', '// The rules.\nexport {};'],
      ['src/core/decide.ts', '/** The rules. */\nexport {};'],
      ['src/cli/main.ts', '#!/usr/bin/env node\n// The command line.\n'],
    ],
  },
  {
    says: 'no comment leaves work behind',
    where: EVERYWHERE,
    rule: leftoverRule(LEFTOVERS),
    bad: [
      ['src/core/decide.ts', '// TODO: the rules'],
      ['src/core/decide.ts', 'decide(/* FIXME */ 1);'],
      ['src/core/decide.ts', 'decide(); // XXX'],
      ['src/core/decide.ts', '/**\n * HACK\n */\nexport {};'],
      ['src/core/decide.ts', 'export {};\n// TODO at the very end'],
    ],
    good: [
      ['src/core/decide.ts', "const says = '// TODO';"],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder belongs to the snippet.
      ['src/core/decide.ts', 'const says = `${1} // TODO ${2} // TODO`;'],
      ['src/core/decide.ts', '// All methods.'],
    ],
  },
  {
    says: 'no test runs alone or is left out without a reason',
    where: EVERYWHERE,
    rule: testRule,
    bad: [
      ['src/core/decide.test.ts', "it.only('decides', () => {});"],
      ['src/core/decide.test.ts', "describe.concurrent.only('decides', () => {});"],
      ['src/core/decide.test.ts', "it('decides', { only: true }, () => {});"],
      ['src/core/decide.test.ts', "it.skip('decides', () => {});"],
      ['src/core/decide.test.ts', "// What this file is.\n\nit.skip('decides', () => {});"],
      ['src/core/decide.test.ts', "it.skipIf(process.platform === 'win32')('decides', () => {});"],
      ['src/core/decide.test.ts', "describe('x', () => {\n  test.skip.each([1])('decides', () => {});\n});"],
      ['src/core/decide.test.ts', "it('decides', { skip: true }, () => {});"],
      ['src/core/decide.test.ts', "it.todo('decides');"],
      ['src/core/decide.test.ts', "it('decides', (context) => context.skip());"],
    ],
    good: [
      ['src/core/decide.test.ts', "it('decides', () => {});"],
      ['src/core/decide.test.ts', "// Windows has no flock.\nit.skip('locks', () => {});"],
      ['src/core/decide.test.ts', "it('locks', (context) => context.skip('Windows has no flock.'));"],
      ['src/core/decide.test.ts', "it('decides', { skip: false }, () => {});"],
    ],
  },
];

describe('the house rules', () => {
  const sources = readSources(EVERYWHERE);

  it('are held against the files that are there', () => {
    expect(sources.map(({ path }) => path)).toContain('test/tidy.test.ts');
  });

  for (const { says, where, rule } of HOUSE_RULES) {
    it(says, () => {
      const meant = sources.filter(({ path }) => where.some((folder) => path.startsWith(`${folder}/`)));
      expect(meant.flatMap(rule)).toEqual([]);
    });
  }
});

describe.each(HOUSE_RULES)('the rule "$says"', ({ rule, bad, good }) => {
  it.each(bad)('complains about %s: %j', (path, text) => {
    expect(rule(sourceOf(path, text))).not.toEqual([]);
  });

  it.each(good)('accepts %s: %j', (path, text) => {
    expect(rule(sourceOf(path, text))).toEqual([]);
  });
});
