// The types of the built package, as projects resolve them: modern Node, older Node, a bundler, and classic CommonJS.
// One consumer is compiled in each; it also says what must not compile.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

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
  symlinkSync(join(ROOT, 'node_modules', '@types', 'node'), join(dir, 'node_modules', '@types', 'node'));
  copyFileSync(join(ROOT, 'test', 'types', 'consumer.ts'), join(dir, 'consumer.ts'));
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe.each(Object.entries(PROJECTS))('a project of the kind %s', (_, modules) => {
  it('finds the types of every entry point, and refuses what they refuse', () => {
    const program = ts.createProgram([join(dir, 'consumer.ts')], {
      ...modules,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
      types: ['node'],
      typeRoots: [join(dir, 'node_modules', '@types')],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
    });
    const said = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
      const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1;
      return `${file?.fileName ?? ''}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
    expect(said).toEqual([]);
  });
});
