// A small reader of JSON Schema, for tests that look at a description the way a stranger would: it knows the keywords
// that ours uses and fails on any other, so that nothing passes because it was not understood.

export type Schema = Readonly<Record<string, unknown>>;
type Complain = (problem: string) => void;

/** What is wrong with a value, one line each; `resolve` follows references. */
export function complaints(schema: Schema, value: unknown, resolve: (ref: string) => Schema): string[] {
  const found: string[] = [];
  check(schema, value, '', (problem) => found.push(problem), resolve);
  return found;
}

const SILENT = ['description', 'format', 'discriminator', 'default'];
const FORMATS = [
  'name',
  'lease-name',
  'id',
  'schedule-name',
  'reason',
  'token',
  'shown',
  'profile',
  'session',
  'date-time',
  'uri-reference',
  'int64',
];

function check(
  schema: Schema,
  value: unknown,
  path: string,
  complain: Complain,
  resolve: (ref: string) => Schema,
): void {
  const accepts = (candidate: Schema): boolean => complaints(candidate, value, resolve).length === 0;
  const demand = (isRight: boolean, keyword: string): void => {
    if (!isRight) complain(`${path || '/'} breaks ${keyword} ${JSON.stringify(schema[keyword])}`);
  };
  const length = typeof value === 'string' ? [...value].length : 0;
  for (const [keyword, wanted] of Object.entries(schema)) {
    switch (keyword) {
      case '$ref':
        check(resolve(wanted as string), value, path, complain, resolve);
        break;
      case 'type':
        demand(typesOf(value).includes(wanted as string), keyword);
        break;
      case 'const':
        demand(value === wanted, keyword);
        break;
      case 'enum':
        demand((wanted as unknown[]).includes(value), keyword);
        break;
      case 'minimum':
        demand(typeof value !== 'number' || value >= (wanted as number), keyword);
        break;
      case 'maximum':
        demand(typeof value !== 'number' || value <= (wanted as number), keyword);
        break;
      case 'minLength':
        demand(typeof value !== 'string' || length >= (wanted as number), keyword);
        break;
      case 'maxLength':
        demand(typeof value !== 'string' || length <= (wanted as number), keyword);
        break;
      case 'pattern':
        demand(typeof value !== 'string' || new RegExp(wanted as string, 'u').test(value), keyword);
        break;
      case 'minItems':
        demand(!Array.isArray(value) || value.length >= (wanted as number), keyword);
        break;
      case 'maxItems':
        demand(!Array.isArray(value) || value.length <= (wanted as number), keyword);
        break;
      case 'uniqueItems':
        demand(!Array.isArray(value) || new Set(value).size === value.length, keyword);
        break;
      case 'anyOf':
        demand((wanted as Schema[]).some(accepts), keyword);
        break;
      case 'oneOf':
        demand((wanted as Schema[]).filter(accepts).length === 1, keyword);
        break;
      case 'allOf':
        for (const part of wanted as Schema[]) check(part, value, path, complain, resolve);
        break;
      case 'items':
        if (!Array.isArray(value)) break;
        for (const [index, item] of value.entries()) {
          check(wanted as Schema, item, `${path}/${index}`, complain, resolve);
        }
        break;
      case 'required':
        if (!isObject(value)) break;
        for (const field of wanted as string[]) {
          if (!Object.hasOwn(value, field)) complain(`${path}/${field} is missing`);
        }
        break;
      case 'properties':
        if (!isObject(value)) break;
        for (const [field, part] of Object.entries(wanted as Record<string, Schema>)) {
          if (Object.hasOwn(value, field)) check(part, value[field], `${path}/${field}`, complain, resolve);
        }
        break;
      case 'additionalProperties':
        if (wanted === true || !isObject(value)) break;
        for (const field of Object.keys(value)) {
          if (!Object.hasOwn((schema.properties ?? {}) as object, field))
            complain(`${path}/${field} is unknown`);
        }
        break;
      default:
        if (!SILENT.includes(keyword)) complain(`the keyword ${keyword} at ${path || '/'} is not understood`);
    }
  }
  if (schema.format !== undefined && !FORMATS.includes(schema.format as string)) {
    complain(`the format ${String(schema.format)} at ${path || '/'} is not understood`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function typesOf(value: unknown): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value !== 'number') return [typeof value];
  return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
}
