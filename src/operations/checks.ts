/** The checks of all requests, compiled once from their definitions. */
import { type TObject, Type } from '@sinclair/typebox';
import { EVENTS_REQUEST, LOG_REQUEST, SESSION_EVENTS_REQUEST } from './pages.ts';
import { compileCheck, type RequestCheck } from './schema-check.ts';
import { OPERATION_NAMES, OPERATIONS, type Operation } from './table.ts';

/** The checks of all operations, compiled once. */
export const CHECKS = compileAll((schema) => schema);

/** The same for operations inside a batch, where each also carries its own name. */
export const BATCH_CHECKS = compileAll((schema, operation) =>
  Type.Object({ ...schema.properties, op: Type.Literal(operation) }, { additionalProperties: false }),
);

export const LOG_CHECK = compileCheck(LOG_REQUEST);
export const EVENTS_CHECK = compileCheck(EVENTS_REQUEST);
export const SESSION_EVENTS_CHECK = compileCheck(SESSION_EVENTS_REQUEST);

function compileAll(
  shape: (schema: TObject, operation: Operation) => TObject,
): Readonly<Record<Operation, RequestCheck>> {
  return Object.fromEntries(
    OPERATION_NAMES.map((operation) => [
      operation,
      compileCheck(shape(OPERATIONS[operation].request, operation)),
    ]),
  ) as Record<Operation, RequestCheck>;
}
