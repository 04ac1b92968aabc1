// What the client knows of the operations: methods, paths and retry rules, without schemas and rules of the server.
import { OPAQUE } from '../../src/operations/fields.ts';
import { PAGES } from '../../src/operations/pages.ts';
import { type AnyOperation, OPERATION_NAMES, operationOf } from '../../src/operations/table.ts';

export function clientTable(): string {
  return `// biome-ignore-all format: generated, one operation a line
/**
 * What the client knows of each operation. Generated from \`src/operations\` by \`npm run generate\`; a test compares.
 * It holds no schemas and no rules, so that a browser loads neither.
 */
import type { Retry } from '../operations/operation.ts';
import type { Operation } from '../operations/table.ts';

export interface OperationRow {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fields in braces. */
  readonly path: string;
  readonly batch?: true;
  /** Keeps or ends ownership: on a live connection it leaves before the rest. */
  readonly urgent?: true;
  /** Its reply has values that belong to the user. */
  readonly opaque?: true;
  /** Keeps alive what is held: it travels on a connection of its own. */
  readonly renews?: true;
  /** How it is retried after a lost reply; absent where once and twice are the same. */
  readonly retry?: Exclude<Retry, 'safe'>;
}

export const OPERATION_ROWS: Readonly<Record<Operation, OperationRow>> = {
${OPERATION_NAMES.map((name) => `  '${name}': ${row(operationOf(name))},`).join('\n')}
};

export const LOG_PATH = '${PAGES.log.path}';
`;
}

function row(operation: AnyOperation): string {
  const { method, path } = operation;
  const parts = [`method: '${method}'`, `path: '${path}'`];
  if (hasOpaque(operation.reply)) parts.push('opaque: true');
  if ('command' in operation) {
    const { batch, urgent, renews, retry } = operation;
    if (batch) parts.push('batch: true');
    if (urgent) parts.push('urgent: true');
    if (renews) parts.push('renews: true');
    if (retry !== 'safe') {
      const rules = Object.entries(retry).map(([rule, value]) => `${rule}: ${literal(value)}`);
      parts.push(`retry: { ${rules.join(', ')} }`);
    }
  }
  return `{ ${parts.join(', ')} }`;
}

function hasOpaque(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return OPAQUE in schema || Object.values(schema).some(hasOpaque);
}

function literal(value: string | boolean): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
