// One source file as the house rules see it: where it lies, its text and its syntax tree. Every rule is a function from
// such a file to the sentences it has to complain about, so a rule can be tried on a snippet as well as on the tree.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

export type Source = {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
};

export type Rule = (source: Source) => string[];

export function sourceOf(path: string, text: string): Source {
  const kind = path.endsWith('.tsx')
    ? ts.ScriptKind.TSX
    : path.endsWith('.ts')
      ? ts.ScriptKind.TS
      : ts.ScriptKind.JS;
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true, kind) };
}

/** All code files below the given folders; folders that do not exist yet hold none. */
export function readSources(folders: readonly string[]): Source[] {
  return folders
    .flatMap((folder) => filesBelow(join(root, folder)))
    .map((file) => relative(root, file).split(sep).join(posix.sep))
    .filter((path) => /\.(ts|tsx|mts|cts|js|mjs|cjs)$/.test(path))
    .map((path) => sourceOf(path, readFileSync(join(root, path), 'utf8')));
}

function filesBelow(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === 'dist') return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

export const isTest = (path: string): boolean => path.endsWith('.test.ts');

/** The first-level folder of a file in src (`core`), or the file's own name when it lies in src itself (`index.ts`). */
export const areaOf = (path: string): string | undefined => /^src\/([^/]+)/.exec(path)?.[1];

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

export const lineOf = (source: Source, position: number): number =>
  source.tree.getLineAndCharacterOfPosition(position).line + 1;

export const complaint = (source: Source, node: ts.Node, says: string): string =>
  `${source.path}:${lineOf(source, node.getStart(source.tree))} ${says}`;

/** Every comment of the file, once. Text inside strings and templates is no comment. */
export function commentsOf(source: Source): { readonly start: number; readonly text: string }[] {
  const found = new Map<number, string>();
  const add = (ranges: ts.CommentRange[] | undefined) => {
    for (const { pos, end } of ranges ?? []) found.set(pos, source.text.slice(pos, end));
  };
  const tokens = (node: ts.Node): void => {
    const children = node.getChildren(source.tree);
    if (children.length > 0) {
      for (const child of children) tokens(child);
      return;
    }
    add(ts.getLeadingCommentRanges(source.text, node.getFullStart()));
    // What follows a piece of a template is the template's own text.
    if (!ts.isTemplateHead(node) && !ts.isTemplateMiddle(node)) {
      add(ts.getTrailingCommentRanges(source.text, node.getEnd()));
    }
  };
  tokens(source.tree);
  return [...found].map(([start, text]) => ({ start, text })).sort((a, b) => a.start - b.start);
}
