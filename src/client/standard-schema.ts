/**
 * The part of Standard Schema (version 1) that checks a value. Zod, Valibot, ArkType and others provide it under
 * `~standard`; none of them is imported.
 */
import { LeaseholdError, type SchemaIssue } from '../protocol/leasehold-error.ts';

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Only for the compiler. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The input type of a schema. */
export type SchemaInput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input'];

/** The output type of a schema. */
export type SchemaOutput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output'];

export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard = (value as Partial<StandardSchema>)['~standard'];
  return typeof standard?.validate === 'function';
}

/** The value as transformed by the schema; throws INVALID_TASK when it does not fit. `what` is the subject of the message. */
export function parseBy<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
  what: string,
): Output | Promise<Output> {
  const result = schema['~standard'].validate(value);
  return result instanceof Promise ? result.then((late) => accepted(late, what)) : accepted(result, what);
}

function accepted<Output>(result: SchemaResult<Output>, what: string): Output {
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(plainIssue);
  throw invalidTask(`${what} does not fit its schema: ${issues.map(sentenceOf).join('; ')}`, { issues });
}

export function invalidTask(
  says: string,
  { issues = [], cause }: { readonly issues?: readonly SchemaIssue[]; readonly cause?: unknown } = {},
): LeaseholdError {
  return new LeaseholdError('INVALID_TASK', says, { details: { issues }, cause });
}

function plainIssue({ message, path = [] }: StandardIssue): SchemaIssue {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  return keys.length === 0 ? { message } : { message, path: keys };
}

function sentenceOf({ message, path = [] }: SchemaIssue): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;
}
