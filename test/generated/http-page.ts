// The operations in `docs/http.md`: one section each, from its definition. `details` has what the schemas do not say.
import type { TObject, TSchema } from '@sinclair/typebox';
import { type AnyOperation, OPERATION_NAMES, operationOf } from '../../src/operations/table.ts';

const BEGIN = '<!-- operations: generated from src/operations by `npm run generate` -->';
const END = '<!-- end of the operations -->';

/** The page with its operations as they are defined now; everything around them is written by hand. */
export function httpPage(now: string): string {
  const [head, rest] = now.split(BEGIN) as [string, string];
  const tail = rest.slice(rest.indexOf(END));
  return `${head}${BEGIN}\n\n${groups().join('\n')}\n${tail}`;
}

/** The groups in the order of the table, with a heading and what they have in common. */
const GROUPS: Readonly<Record<string, { readonly title: string; readonly says?: string }>> = {
  task: { title: 'Tasks' },
  worker: { title: 'Workers and queues' },
  schedule: {
    title: 'Schedules',
    says: 'A schedule creates a task at each of its due times, exactly once; see [the guide](guides/schedules.md).',
  },
  lease: { title: 'Named leases' },
  object: {
    title: 'Fenced objects',
    says:
      'The lease of an object is the named lease of the same name. Writes pass the [seven fence\n' +
      'checks](errors.md#the-seven-fence-checks); the first that fails refuses the write, and nothing changes.',
  },
  status: { title: 'State' },
  intent: {
    title: 'Intents and sessions',
    says:
      'A client sends an intent, gets a session at once, and follows it. An orchestrator acquires the leases and runs the\n' +
      'pipeline; see [the guide](guides/sessions.md).',
  },
};

function groups(): string[] {
  return OPERATION_NAMES.map((name, index) => {
    const group = name.split('.')[0]!;
    const before = OPERATION_NAMES[index - 1]?.split('.')[0];
    const heading = group !== before && GROUPS[group] !== undefined ? headingOf(GROUPS[group]) : '';
    return heading + sectionOf(operationOf(name));
  });
}

function headingOf({ title, says }: { readonly title: string; readonly says?: string }): string {
  return `## ${title}\n\n${says === undefined ? '' : `${says}\n\n`}`;
}

function sectionOf(operation: AnyOperation): string {
  const { name, method, path, scope, batch, does, details, request, status } = operation;
  const parts = [
    `### ${name}`,
    `\`${method} ${path}\` · ${scope === 'any' ? 'any token' : `scope \`${scope}\``}${batch ? ' · batchable' : ''}`,
    does,
    fieldTable(request, ['stale']),
    `Reply${status === 200 ? '' : ` (${status}${status === 201 ? ('created' in operation.reply.properties ? ', or 200' : ', or 200 with `duplicate`') : ''})`}: \`${shapeOf(operation.reply)}\`.`,
    details,
    refusalsOf(operation),
    `\`\`\`sh\n${curlOf(operation)}\n\`\`\``,
  ];
  return `${parts.filter((part) => part !== undefined && part !== '').join('\n\n')}\n`;
}

function fieldTable(request: TObject, without: readonly string[]): string {
  const rows = fieldRows(request, '', without);
  if (rows.length === 0) return '';
  return ['| field | type | required | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

/** A row for each field, and below an object those of its fields. */
function fieldRows(
  { properties, required = [] }: TObject,
  within: string,
  without: readonly string[] = [],
): string[] {
  return Object.entries(properties)
    .filter(([name]) => !without.includes(name))
    .flatMap(([name, field]) => {
      const schema = alternativesOf(field as TSchema)[0]!;
      const path = `${within}${name}`;
      const says = ((field as TSchema).description ?? '').replaceAll('|', '\\|');
      const row = `| \`${path}\` | ${typeOf(field as TSchema)} | ${required.includes(name) ? 'yes' : ''} | ${says} |`;
      if ('properties' in schema) return [row, ...fieldRows(schema as TObject, `${path}.`)];
      const { items } = schema as { items?: TSchema };
      const isList = items !== undefined && 'properties' in items;
      return isList ? [row, ...fieldRows(items as TObject, `${path}[].`)] : [row];
    });
}

/** What may stand there, without the null that removes it. */
function alternativesOf(schema: TSchema): readonly TSchema[] {
  const { anyOf } = schema as { anyOf?: readonly TSchema[] };
  return (anyOf ?? [schema]).filter((each) => (each as { type?: string }).type !== 'null');
}

/** `string`, `integer 1 to 1000`, `list of string`, `"skip", "allow"`, `object or null`. */
function typeOf(schema: TSchema): string {
  const { anyOf } = schema as { anyOf?: readonly TSchema[] };
  if (anyOf !== undefined)
    return anyOf.map(typeOf).join(anyOf.every((each) => 'const' in each) ? ', ' : ' or ');
  const { type, format, items, minimum, maximum } = schema as Record<string, unknown> & { items?: TSchema };
  if ('const' in schema) return JSON.stringify(schema.const);
  if (type === undefined) return 'any JSON';
  if (type === 'array') return `list of ${typeOf(items!)}`;
  if (format === 'date-time') return 'instant';
  if (type !== 'integer' || minimum === undefined) return String(type);
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? `integer from ${minimum}`
    : `integer ${minimum} to ${maximum}`;
}

/** `{task_id, due_at?, leases: [{lease_id, …}]}`: what is there, and what is inside of lists. */
function shapeOf({ properties, required = [] }: TObject): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const inner = innerOf(field as TSchema);
    return `${name}${required.includes(name) ? '' : '?'}${inner === null ? '' : `: ${inner}`}`;
  });
  return `{${fields.join(', ')}}`;
}

function innerOf(schema: TSchema): string | null {
  const { items } = schema as { items?: TSchema };
  if (items !== undefined) return `[${'properties' in items ? shapeOf(items as TObject) : '…'}]`;
  return 'properties' in schema ? shapeOf(schema as TObject) : null;
}

function refusalsOf({ refusals }: AnyOperation): string {
  if (refusals.length === 0) return 'No refusals of its own.';
  return `Refused with ${refusals.map((code) => `\`${code}\``).join(', ')}.`;
}

/** The example as a call that can be pasted. */
function curlOf({ method, path, example }: AnyOperation): string {
  const fields = { ...(example.request as Record<string, unknown>) };
  const place = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = encodeURIComponent(String(fields[field]));
    delete fields[field];
    return value;
  });
  const url = `$LEASEHOLD_URL${place}`;
  if (method === 'GET') {
    const query = new URLSearchParams(
      Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, String(value)])),
    );
    return query.size === 0 ? `curl ${url}` : `curl "${url}?${query}"`;
  }
  const body = Object.keys(fields).length === 0 ? '' : ` --json '${JSON.stringify(fields)}'`;
  return `curl${method === 'POST' && body !== '' ? '' : ` -X ${method}`}${body} ${url}`;
}
