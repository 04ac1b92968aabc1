// Rules about what code may name. They read the syntax tree, so comments and strings never count, and neither do types,
// except where a rule asks for them: `NodeJS.Timeout` reads no clock.
import ts from 'typescript';
import { importsOf } from './imports.ts';
import type { Rule } from './source.ts';
import { areaOf, complaint, isTest, walk } from './source.ts';

export type Seams = {
  /** Folders that implement the seams and are therefore free to name the real thing. */
  readonly free: readonly string[];
  /** Globals that no other file may touch, bare or through `globalThis`. */
  readonly globals: readonly string[];
  /** Members that no other file may read, as `Object.member`. */
  readonly members: readonly string[];
  /** Names that no other file may use on anything, whether imported, called or destructured. */
  readonly anywhere: readonly string[];
  /** `node:` modules that no other file may load. */
  readonly modules: readonly string[];
};

const GLOBAL_OBJECTS = ['globalThis', 'global', 'window', 'self'];

export function seamRule(seams: Seams): Rule {
  return (source) => {
    const area = areaOf(source.path);
    if (area === undefined || seams.free.includes(area) || isTest(source.path)) return [];
    const found: string[] = [];
    const report = (node: ts.Node, name: string) => {
      found.push(complaint(source, node, `names ${name}, which is behind a seam: take it as an argument`));
    };
    for (const { node, specifier, typesOnly } of importsOf(source)) {
      if (!typesOnly && seams.modules.includes(specifier.replace(/^node:/, ''))) report(node, specifier);
    }
    walk(source.tree, (node) => {
      const member = memberOf(node);
      if (member && seams.members.includes(`${member.object}.${member.name}`)) {
        report(node, `${member.object}.${member.name}`);
      }
      if (member && GLOBAL_OBJECTS.includes(member.object) && seams.globals.includes(member.name)) {
        report(node, member.name);
      }
      if (!ts.isIdentifier(node) || isTypePosition(node)) return;
      if (seams.anywhere.includes(node.text)) report(node, node.text);
      else if (seams.globals.includes(node.text) && !isMemberName(node) && !isPureDate(node)) {
        report(node, node.text);
      }
    });
    return found;
  };
}

/** `new Date(ms)`, `Date.UTC(…)` and `Date.parse(text)` calculate; they do not read the clock. */
function isPureDate({ text, parent }: ts.Identifier): boolean {
  if (text !== 'Date') return false;
  if (ts.isNewExpression(parent)) return (parent.arguments?.length ?? 0) > 0;
  return ts.isPropertyAccessExpression(parent) && ['UTC', 'parse'].includes(parent.name.text);
}

/** `a.b`, `a['b']` and `const { b } = a`, as object and name; anything less direct is not recognised. */
function memberOf(node: ts.Node): { object: string; name: string } | undefined {
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
    return { object: node.expression.text, name: node.name.text };
  }
  if (ts.isElementAccessExpression(node) && ts.isIdentifier(node.expression)) {
    const key = node.argumentExpression;
    return ts.isStringLiteralLike(key) ? { object: node.expression.text, name: key.text } : undefined;
  }
  if (ts.isBindingElement(node) && ts.isVariableDeclaration(node.parent.parent)) {
    const from = node.parent.parent.initializer;
    const key = node.propertyName ?? node.name;
    if (from && ts.isIdentifier(from) && ts.isIdentifier(key)) return { object: from.text, name: key.text };
  }
  return undefined;
}

/** A name that belongs to some object (`timers.setTimeout`, `{ fetch: … }`, a method called `fetch`), not to the globals. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  if (
    ts.isPropertyAssignment(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isGetAccessorDeclaration(parent) ||
    ts.isSetAccessorDeclaration(parent) ||
    ts.isEnumMember(parent)
  ) {
    return parent.name === node;
  }
  return false;
}

function isTypePosition(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at; at = at.parent) {
    if (ts.isTypeNode(at) && !isRuntimeHeritage(at)) return true;
    if (ts.isTypeElement(at) || ts.isInterfaceDeclaration(at) || ts.isTypeAliasDeclaration(at)) return true;
    if (ts.isImportClause(at) && at.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
    if (ts.isExpression(at) && !ts.isIdentifier(at)) return false;
  }
  return false;
}

/** `class A extends Date` counts as a type for the compiler, yet it runs. */
const isRuntimeHeritage = (node: ts.Node): boolean =>
  ts.isExpressionWithTypeArguments(node) &&
  ts.isHeritageClause(node.parent) &&
  node.parent.token === ts.SyntaxKind.ExtendsKeyword &&
  ts.isClassLike(node.parent.parent);

/** Folders whose code decides and never waits: no promises in any form, and nothing that only Node has. */
export function pureRule(areas: readonly string[], forbidden: readonly string[]): Rule {
  return (source) => {
    const area = areaOf(source.path);
    if (area === undefined || !areas.includes(area) || isTest(source.path)) return [];
    const found: string[] = [];
    walk(source.tree, (node) => {
      const waits =
        node.kind === ts.SyntaxKind.AsyncKeyword ||
        node.kind === ts.SyntaxKind.AwaitKeyword ||
        ts.isAwaitExpression(node);
      if (waits) found.push(complaint(source, node, `src/${area} never waits: no async, no await`));
      if (ts.isIdentifier(node) && forbidden.includes(node.text) && !isMemberName(node)) {
        found.push(complaint(source, node, `src/${area} may not name ${node.text}`));
      }
    });
    return found;
  };
}
