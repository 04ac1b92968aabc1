// The tables of entries and of rows as the generators read them: fields and layouts.
import {
  ENTRIES,
  type EntryDefinition,
  type Layout,
  RECORDS,
  type RecordDefinition,
  type ShownField,
  type StoredField as StoredFieldOf,
} from '../../src/core/entry-table.ts';
import { ROWS, type RowDefinition, type RowKind } from '../../src/core/row-table.ts';

export type StoredField = StoredFieldOf<RowKind>;
export type Field = StoredField | ShownField;

const isStored = (field: Field): field is StoredField => 'kind' in field && field.retired === undefined;
const isRetired = (field: Field): boolean => 'kind' in field && field.retired === true;
export const isShown = (field: Field): field is ShownField | (StoredField & { json: string }) =>
  'value' in field || (isStored(field) && field.json !== undefined);

export const isList = ({ kind }: StoredField): boolean => kind.endsWith('[]');

/** A field that is nothing but a flag. */
export const isFlag = ({ kind, words }: StoredField): boolean => kind === 'boolean' || words !== undefined;

/** A field that is null when its flag is not set. */
export const isNullable = (field: StoredField): boolean =>
  field.flag !== undefined && !isShared(field) && !isFlag(field) && !isList(field);

/** A field that may share its flag with others. */
const isShared = ({ usual, without }: StoredField): boolean => usual !== undefined || without !== undefined;

export const isOpaque = ({ kind }: StoredField): boolean => kind === 'opaque';

export function storedOf<F extends Field>(
  fields: Readonly<Record<string, F>>,
): [name: string, field: Extract<F, StoredField>][] {
  return Object.entries(fields).filter((row): row is [string, Extract<F, StoredField>] => isStored(row[1]));
}

/** One way in which an entry, a row, or a record inside of one is stored. */
export interface StoredLayout {
  /** The type number; a record has none. */
  readonly byte: number | null;
  readonly words: readonly string[];
  readonly when: string | null;
  readonly given: Readonly<Record<string, string>>;
  readonly note: string | null;
}

export interface Definition {
  readonly name: string;
  /** What generated code calls a value of this type. */
  readonly subject: string;
  /** The property that says which of its union it is; a record has none. */
  readonly tag: string | null;
  readonly says: string | undefined;
  readonly fields: Readonly<Record<string, Field>>;
  readonly layouts: readonly StoredLayout[];
}

export const RECORD_DEFINITIONS: readonly Definition[] = Object.entries(RECORDS).map(
  ([name, { says, fields, bytes }]: [string, RecordDefinition]) => ({
    name,
    subject: 'entry',
    tag: null,
    says,
    fields,
    layouts: [layoutOf(null, bytes)],
  }),
);

export const ENTRY_DEFINITIONS: readonly Definition[] = Object.entries(ENTRIES).map(
  ([name, { says, fields, layouts }]: [string, EntryDefinition]) => ({
    name,
    subject: 'entry',
    tag: `type: '${name}'`,
    says,
    fields,
    layouts: allLayouts(layouts, fields, 'entry'),
  }),
);

/** Image records, and those inside of them, which have no tag. */
export const IMAGE_DEFINITIONS: readonly Definition[] = Object.entries(ROWS).map(imageDefinition);

function imageDefinition([name, row]: [string, RowDefinition]): Definition {
  const subject = row.kind ?? lowerFirst(name.replace('Image', ''));
  const fields = Object.fromEntries(Object.entries(row.fields).filter(([, { partOf }]) => !partOf));
  return {
    name,
    subject,
    tag: row.kind === undefined ? null : `kind: '${row.kind}'`,
    says: row.says,
    fields,
    layouts:
      typeof row.layouts === 'string'
        ? [layoutOf(null, row.layouts)]
        : allLayouts(row.layouts, fields, subject),
  };
}

function allLayouts(
  layouts: Readonly<Record<number, string | Layout>>,
  fields: Readonly<Record<string, Field>>,
  subject: string,
): StoredLayout[] {
  const all = Object.entries(layouts).map(([byte, layout]) => layoutOf(Number(byte), layout));
  return all.map((layout, at) => (at === all.length - 1 ? layout : older(layout, fields, subject)));
}

/** An older layout lacks newer fields and flags: it is written while each has the value that a reader takes for it. */
function older(layout: StoredLayout, fields: Readonly<Record<string, Field>>, subject: string): StoredLayout {
  const inside = fieldsIn(layout);
  const lacking = storedOf(fields).filter(
    ([name, field]) => !isFlag(field) && !inside.includes(name) && !(name in layout.given),
  );
  if (lacking.length === 0) return layout;
  const given = lacking.map(([name, field]) => [name, field.without ?? 'null'] as const);
  const conditions = [
    ...lacking.map(([name, field]) => `!(${isThere(`${subject}.${name}`, field)})`),
    ...storedOf(fields)
      .filter(([name, field]) => isFlag(field) && layout.given[name] === 'false')
      .map(([name]) => `!${subject}.${name}`),
  ];
  return {
    ...layout,
    given: { ...layout.given, ...Object.fromEntries(given) },
    when: [...(layout.when === null ? [] : [layout.when]), ...conditions].join(' && '),
  };
}

/** When a field that may be left out is stored. */
export function isThere(value: string, field: StoredField): string {
  return isList(field) ? `${value}.length !== 0` : `${value} !== ${field.without ?? 'null'}`;
}

function layoutOf(byte: number | null, layout: string | Layout): StoredLayout {
  const {
    bytes,
    when = null,
    given = {},
    note = null,
  } = typeof layout === 'string' ? { bytes: layout } : layout;
  return { byte, words: bytes.split(' '), when, given, note };
}

/** A record that stands in others, by its name. */
export function recordNamed(name: string): Definition | undefined {
  return [...RECORD_DEFINITIONS, ...IMAGE_DEFINITIONS].find(
    (definition) => definition.tag === null && definition.name === name,
  );
}

/** The fields that a layout stores, those of records inside of it included. */
function fieldsIn({ words }: StoredLayout): string[] {
  return words.flatMap((word) => RECORDS[word]?.bytes.split(' ') ?? [word]);
}

/** What is wrong with a definition: every field is stored or given in every layout, and nothing else is. */
export function faultsOf({ fields, layouts }: Pick<Definition, 'fields' | 'layouts'>): string[] {
  const faults: string[] = [];
  for (const layout of layouts) {
    const words = fieldsIn(layout);
    const needed = Object.entries(fields).flatMap(([name, field]) =>
      name in layout.given || (isRetired(field) && !words.includes(name)) ? [] : wordsFor(name, field),
    );
    const missing = [...new Set(needed)].filter((word) => !words.includes(word));
    const unknown = words.filter((word, at) => !needed.includes(word) || words.indexOf(word) !== at);
    const where = layout.byte === null ? '' : ` by ${layout.byte}`;
    faults.push(...missing.map((word) => `${word} is not stored${where}`));
    faults.push(...unknown.map((word) => `${word} is stored${where} and should not be`));
  }
  if (layouts.filter(({ when }) => when === null).length !== 1) faults.push('one layout has no condition');
  const flags = Object.values(fields).flatMap(flagOf);
  const shared = Object.values(fields).flatMap((field) =>
    'kind' in field && isShared(field) ? [field.flag!] : [],
  );
  if (new Set(flags).size !== flags.length || flags.some((flag) => shared.includes(flag)))
    faults.push('a flag has two meanings');
  return faults;
}

/** What a layout must have for a field. */
function wordsFor(name: string, field: Field): string[] {
  if ('value' in field) return [];
  const flags = flagOf(field).length > 0 || isShared(field) ? ['flags'] : [];
  if (isFlag(field)) return flags;
  return [...flags, ...(isList(field) ? [`#${name}`] : []), name];
}

/** The flags that belong to this field alone. */
function flagOf(field: Field): number[] {
  if ('value' in field || isShared(field)) return [];
  return field.kind === 'task' ? [1] : field.flag === undefined ? [] : [field.flag];
}

export function lowerFirst(name: string): string {
  return name[0]!.toLowerCase() + name.slice(1);
}
