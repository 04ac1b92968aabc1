// Rules about tests: none runs alone, and none is left out without a reason. The reason is a comment directly above the
// statement, or the text given to `context.skip('…')`.
import ts from 'typescript';
import type { Rule, Source } from './source.ts';
import { complaint, isTest, walk } from './source.ts';

const RUNNERS = ['it', 'test', 'describe', 'suite'];
const LEAVING_OUT = ['skip', 'skipIf', 'runIf', 'todo'];

export const testRule: Rule = (source) => {
  if (!isTest(source.path)) return [];
  const found: string[] = [];
  const leftOut = (node: ts.Node) => {
    if (!hasReason(source, node))
      found.push(complaint(source, node, 'leaves a test out without a reason above it'));
  };
  walk(source.tree, (node) => {
    if (ts.isPropertyAccessExpression(node)) {
      if (RUNNERS.includes(rootOf(node))) {
        if (node.name.text === 'only') found.push(complaint(source, node, 'runs one test alone'));
        if (LEAVING_OUT.includes(node.name.text)) leftOut(node);
      } else if (
        node.name.text === 'skip' &&
        ts.isCallExpression(node.parent) &&
        node.parent.expression === node
      ) {
        // `context.skip()` inside a test; iterators have no method of that name.
        if (node.parent.arguments.length === 0) leftOut(node);
      }
    }
    if (
      ts.isPropertyAssignment(node) &&
      isOptionOfRunner(node) &&
      node.initializer.kind !== ts.SyntaxKind.FalseKeyword
    ) {
      const name = node.name.getText(source.tree);
      if (name === 'only') found.push(complaint(source, node, 'runs one test alone'));
      if (name === 'skip' || name === 'todo') leftOut(node);
    }
  });
  return found;
};

/** The name at the beginning of `it.concurrent.only.each(…)`. */
function rootOf(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return rootOf(node.expression);
  return '';
}

function isOptionOfRunner(node: ts.PropertyAssignment): boolean {
  const call = node.parent.parent;
  return ts.isCallExpression(call) && RUNNERS.includes(rootOf(call.expression));
}

function hasReason(source: Source, node: ts.Node): boolean {
  let statement = node;
  while (!ts.isStatement(statement)) {
    if (ts.isSourceFile(statement.parent)) break;
    statement = statement.parent;
  }
  const above = ts.getLeadingCommentRanges(source.text, statement.getFullStart()) ?? [];
  const start = statement.getStart(source.tree);
  // The comment that opens the file explains the file; only one that touches the statement explains the statement.
  return above.some(({ end }) => !/\n\s*\n/.test(source.text.slice(end, start)));
}
