// Who may import whom. The table itself stands in test/tidy.test.ts; here is only how it is read. An import that brings
// nothing but types (`import type …`) counts as such only as a whole: `import { type A }` still loads the file.
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import ts from 'typescript';
import type { Rule, Source } from './source.ts';
import { areaOf, complaint, isTest, walk } from './source.ts';

export type Permission = {
  /** Folders of src whose code may be imported; 'any' for all of them. One's own folder is always allowed. */
  readonly folders: readonly string[] | 'any';
  /** Folders of which only types may be imported. */
  readonly types?: readonly string[] | 'any';
  /** Single files that may be imported although their folder may not. */
  readonly files?: readonly string[];
  readonly packages?: readonly string[] | 'any';
  /** Whether `node:` modules are allowed at all; the seams then still forbid some of them. */
  readonly node: boolean;
  /** Folders outside src, for the tests that stand beside the sources. */
  readonly outside?: readonly string[];
};

export type ImportSite = { readonly node: ts.Node; readonly specifier: string; readonly typesOnly: boolean };

/** Static imports, re-exports, `import()`, `import('…')` types, `require` and `process.getBuiltinModule`. */
export function importsOf(source: Source): ImportSite[] {
  const sites: ImportSite[] = [];
  const add = (node: ts.Node, specifier: ts.Node | undefined, typesOnly: boolean) => {
    if (specifier && ts.isStringLiteralLike(specifier))
      sites.push({ node, specifier: specifier.text, typesOnly });
  };
  walk(source.tree, (node) => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.isTypeOnly);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, true);
    } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add(node, node.moduleReference.expression, node.isTypeOnly);
    } else if (ts.isCallExpression(node) && loadsModule(node.expression)) {
      add(node, node.arguments[0], false);
    }
  });
  return sites;
}

function loadsModule(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true;
  if (ts.isIdentifier(callee)) return callee.text === 'require';
  return ts.isPropertyAccessExpression(callee) && callee.name.text === 'getBuiltinModule';
}

/** `@scope/name/deep` → `@scope/name`, `name/deep` → `name`. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

const allows = (list: readonly string[] | 'any' | undefined, name: string): boolean =>
  list === 'any' || (list?.includes(name) ?? false);

export function importRule(
  table: Readonly<Record<string, Permission>>,
  testsMayAlso: Readonly<Record<string, Permission>>,
): Rule {
  return (source) => {
    const area = areaOf(source.path);
    if (area === undefined) return [];
    const own = table[area];
    if (!own) return [`${source.path}:1 src/${area} has no row in the table of imports`];
    const extra = isTest(source.path) ? (testsMayAlso[area] ?? testsMayAlso['*']) : undefined;
    const permissions = extra ? [own, extra] : [own];
    return importsOf(source).flatMap(({ node, specifier, typesOnly }) => {
      const says = refusal(source.path, area, specifier, typesOnly, permissions);
      return says === undefined ? [] : [complaint(source, node, says)];
    });
  };
}

function refusal(
  path: string,
  area: string,
  specifier: string,
  typesOnly: boolean,
  permissions: readonly Permission[],
): string | undefined {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(path), specifier);
    const folder = areaOf(target);
    if (folder === undefined) {
      if (permissions.some(({ outside }) => outside?.some((allowed) => target.startsWith(`${allowed}/`))))
        return;
      return `src/${area} may not import ${target}`;
    }
    if (folder === area) return;
    if (permissions.some(({ folders }) => allows(folders, folder))) return;
    if (permissions.some(({ files }) => allows(files, target))) return;
    if (permissions.some(({ types }) => allows(types, folder))) {
      return typesOnly ? undefined : `src/${area} may import only types from src/${folder}`;
    }
    return `src/${area} may not import src/${folder}`;
  }
  if (isBuiltin(specifier)) {
    if (permissions.some(({ node }) => node)) return;
    return `src/${area} may not import ${specifier}: it does not depend on Node`;
  }
  const name = packageOf(specifier);
  if (permissions.some(({ packages }) => allows(packages, name))) return;
  return `src/${area} may not import the package ${name}`;
}
