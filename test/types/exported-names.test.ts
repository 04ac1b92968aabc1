// Every type that a public signature names can be imported by that name, from its entry point or from leasehold itself.
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));
const ENTRIES = ['index', 'browser', 'client-node', 'postgres', 'sessions', 'testing'];

const files = ENTRIES.map((name) => `${DIST}${name}.d.ts`);
const program = ts.createProgram(files, {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  skipLibCheck: true,
});
const checker = program.getTypeChecker();

function resolved(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** A name of ours, declared at the top of a file: not a type parameter, a member or something of a library. */
function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some(
    (node) => node.getSourceFile().fileName.startsWith(DIST) && ts.isSourceFile(node.parent),
  );
}

/** What a declaration names, without private members and, where programs get the type only, without its constructor. */
function namesIn(declaration: ts.Node, isConstructed: boolean, found: Set<ts.Symbol>): void {
  const visit = (node: ts.Node): void => {
    if (ts.isConstructorDeclaration(node) && !isConstructed) return;
    if (ts.canHaveModifiers(node) && isPrivate(node)) return;
    const name = nameOf(node);
    const symbol = name === undefined ? undefined : checker.getSymbolAtLocation(name);
    if (symbol !== undefined && isOurs(resolved(symbol))) found.add(resolved(symbol));
    ts.forEachChild(node, visit);
  };
  visit(declaration);
}

function isPrivate(node: ts.HasModifiers): boolean {
  return ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) ?? false;
}

function nameOf(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  if (ts.isExpressionWithTypeArguments(node)) return node.expression;
  return ts.isImportTypeNode(node) ? node.qualifier : undefined;
}

/** Types that others are computed from; what a program names is the result. */
const COMPUTED = ['CamelCase', 'Definitions', 'Table'];

function exportsOf(file: string): readonly ts.Symbol[] {
  return checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!);
}

function isTypeOnly({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some(
    (node) => ts.isExportSpecifier(node) && (node.isTypeOnly || node.parent.parent.isTypeOnly),
  );
}

describe.each(files)('%s', (file) => {
  it('exports every name that its exports use', () => {
    const importable = new Set([...exportsOf(file), ...exportsOf(files[0]!)].map(({ name }) => name));
    const named = new Set<ts.Symbol>();
    for (const symbol of exportsOf(file))
      for (const node of resolved(symbol).declarations ?? []) namesIn(node, !isTypeOnly(symbol), named);
    const missing = [...named].map(({ name }) => name).filter((name) => !importable.has(name));
    expect(missing.filter((name) => !COMPUTED.includes(name)).sort()).toEqual([]);
  });
});
