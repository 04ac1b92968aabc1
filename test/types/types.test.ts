// The types of the built package, as projects resolve them: modern Node, older Node, a bundler, and classic CommonJS.
// One consumer is compiled in each; it also says what must not compile.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf, programOf, RUN_BY } from '../support/page-blocks.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What a project says in its tsconfig about modules. */
const PROJECTS: Readonly<Record<string, ts.CompilerOptions>> = {
  nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  // The compiler refuses to require ES modules in a project of this kind.
  node16: { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
  bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  'classic CommonJS': {
    module: ts.ModuleKind.CommonJS,
    moduleResolution: ts.ModuleResolutionKind.Node10,
    ignoreDeprecations: '6.0',
  },
};

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-types-'));
  mkdirSync(join(dir, 'node_modules', '@types'), { recursive: true });
  symlinkSync(ROOT, join(dir, 'node_modules', 'leasehold'));
  for (const name of ['node', 'pg'])
    symlinkSync(join(ROOT, 'node_modules', '@types', name), join(dir, 'node_modules', '@types', name));
  copyFileSync(join(ROOT, 'test', 'types', 'consumer.ts'), join(dir, 'consumer.ts'));
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

function mistakesIn(files: readonly string[], modules: ts.CompilerOptions): string[] {
  const program = ts.createProgram(files, {
    ...modules,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
    types: ['node'],
    typeRoots: [join(dir, 'node_modules', '@types')],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1;
    return `${file?.fileName ?? ''}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

describe.each(Object.entries(PROJECTS))('a project of the kind %s', (_, modules) => {
  it('finds the types of every entry point, and refuses what they refuse', () => {
    expect(mistakesIn([join(dir, 'consumer.ts')], modules)).toEqual([]);
  });
});

it('the programs in TypeScript on the pages have no mistakes', () => {
  const programs = Object.keys(RUN_BY)
    .flatMap(blocksOf)
    .filter(({ language }) => language === 'ts');
  const files = programs.map((block, index) => {
    const file = join(dir, `page-${index}.mts`);
    writeFileSync(file, programOf(block));
    return file;
  });
  expect(files).not.toEqual([]);
  expect(mistakesIn(files, PROJECTS.nodenext!)).toEqual([]);
});
