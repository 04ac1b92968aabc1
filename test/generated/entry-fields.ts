// The table of entries as the generators read it: fields and layouts. What each kind of field is in types, bytes and JSON
// stands in `KINDS`.
import {
  ENTRIES,
  type EntryDefinition,
  type Field,
  type Kind,
  type Layout,
  RECORDS,
  type RecordDefinition,
  type ShownField,
  type StoredField,
  WORDS,
} from '../../src/core/entry-table.ts';

interface KindText {
  readonly type: string;
  /** Bytes, if they are always as many. */
  readonly size?: number;
  readonly layout: string;
  readonly write: (value: string) => string;
  readonly read: string;
  readonly show: (value: string) => string;
}

const plain = (value: string) => value;
const f64 = {
  type: 'number',
  size: 8,
  layout: 'f64',
  write: (value: string) => `out.f64(${value})`,
  read: 'source.f64()',
};
const text = { type: 'string', layout: '', write: (value: string) => `out.string(${value})`, show: plain };

/** A list is written behind its length, which stands in the layout by itself. */
const list = (item: string, items: string, layout: string, show: (value: string) => string): KindText => ({
  type: `readonly ${item}[]`,
  layout,
  write: (value) => `encode${items}(out, ${value})`,
  read: `decode${items}(source, COUNT)`,
  show,
});

const words = (name: keyof typeof WORDS): KindText => ({
  type: name,
  size: 1,
  layout: 'u8',
  write: (value) => `out.u8(${listOf(name)}.indexOf(${value}))`,
  read: `known(${listOf(name)}, source.u8(), '${WORDS[name].what}')`,
  show: plain,
});

export const KINDS: Readonly<Record<Kind, KindText>> = {
  task: {
    type: 'TaskKey',
    size: 8,
    layout: '',
    write: (value) => `encodeKey(out, ${value})`,
    read: 'decodeKey(source, flags)',
    show: (value) => `taskIdOfKey(${value})`,
  },
  leaseId: { ...f64, show: (value) => `leaseIdOfSeq(${value})` },
  sessionId: { ...f64, show: (value) => `sessionIdOfSeq(${value})` },
  number: { ...f64, show: plain },
  instant: { ...f64, show: (value) => `instant(${value})` },
  priority: {
    type: 'number',
    size: 1,
    layout: 'i8',
    write: (value) => `out.i8(${value})`,
    read: 'source.i8()',
    show: plain,
  },
  text: { ...text, read: 'source.string()' },
  label: { ...text, read: 'source.cachedString()' },
  sha256: {
    type: 'string',
    layout: 'as u8 length and bytes',
    write: (value) => `out.binary(${value})`,
    read: 'source.binary()',
    show: (value) => `hex(${value})`,
  },
  opaque: {
    type: 'Opaque',
    size: 12,
    layout: 'opaque',
    write: (value) => `encodeOpaque(out, area, ${value})`,
    read: 'opaques.opaque()',
    show: (value) => `open(${value})`,
  },
  boolean: { type: 'boolean', size: 0, layout: '', write: () => '', read: '', show: plain },
  'task[]': list('TaskKey', 'Keys', '', (value) => `${value}.map(taskIdOfKey)`),
  'text[]': list('string', 'Texts', '', plain),
  'sessionId[]': list('number', 'Numbers', 'f64 each', (value) => `${value}.map(sessionIdOfSeq)`),
  'FencedWrite[]': {
    type: 'readonly FencedWrite[]',
    layout: '`FencedWrite` each',
    write: (value) => `encodeFencedWrites(out, area, ${value})`,
    read: 'decodeFencedWrites(source, opaques, COUNT)',
    show: (value) => `${value}.map((write) => fencedWriteToJson(write, open))`,
  },
  Intent: {
    type: 'Intent',
    layout: '',
    write: (value) => `encodeIntent(out, ${value})`,
    read: 'decodeIntent(source)',
    show: (value) => `intentToJson(${value})`,
  },
  Verb: words('Verb'),
  IntentType: words('IntentType'),
  SessionState: words('SessionState'),
  SessionReason: words('SessionReason'),
};

/** `SessionState` is a word of `SESSION_STATES`. */
export function listOf(name: string): string {
  return `${constantCase(name)}S`;
}

export function constantCase(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

const isStored = (field: Field): field is StoredField => 'kind' in field && field.retired === undefined;
export const isShown = (field: Field): field is ShownField | (StoredField & { json: string }) =>
  'value' in field || (isStored(field) && field.json !== undefined);

export const isList = ({ kind }: StoredField): boolean => kind.endsWith('[]');

/** A field that is nothing but a flag. */
export const isFlag = ({ kind, words }: StoredField): boolean => kind === 'boolean' || words !== undefined;

/** A field that is null when its flag is not set. */
export const isNullable = (field: StoredField): boolean =>
  field.flag !== undefined && field.usual === undefined && !isFlag(field) && !isList(field);

export const isOpaque = ({ kind }: StoredField): boolean => kind === 'opaque';

export function storedOf(fields: Readonly<Record<string, Field>>): [name: string, field: StoredField][] {
  return Object.entries(fields).filter((row): row is [string, StoredField] => isStored(row[1]));
}

/** One way in which an entry, or a record inside of one, is stored. */
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
  readonly says: string | undefined;
  readonly fields: Readonly<Record<string, Field>>;
  readonly layouts: readonly StoredLayout[];
}

export const RECORD_DEFINITIONS: readonly Definition[] = Object.entries(RECORDS).map(
  ([name, { says, fields, bytes }]: [string, RecordDefinition]) => ({
    name,
    says,
    fields,
    layouts: [layoutOf(null, bytes)],
  }),
);

export const ENTRY_DEFINITIONS: readonly Definition[] = Object.entries(ENTRIES).map(
  ([name, { says, fields, layouts }]: [string, EntryDefinition]) => ({
    name,
    says,
    fields,
    layouts: Object.entries(layouts).map(([byte, layout]) => layoutOf(Number(byte), layout)),
  }),
);

function layoutOf(byte: number | null, layout: string | Layout): StoredLayout {
  const {
    bytes,
    when = null,
    given = {},
    note = null,
  } = typeof layout === 'string' ? { bytes: layout } : layout;
  return { byte, words: bytes.split(' '), when, given, note };
}

/** The fields that a layout stores, those of records inside of it included. */
function fieldsIn({ words }: StoredLayout): string[] {
  return words.flatMap((word) => RECORDS[word]?.bytes.split(' ') ?? [word]);
}

/** What is wrong with a definition: every field is stored or given in every layout, and nothing else is. */
export function faultsOf({ fields, layouts }: Definition): string[] {
  const faults: string[] = [];
  for (const layout of layouts) {
    const words = fieldsIn(layout);
    const needed = Object.entries(fields).flatMap(([name, field]) =>
      name in layout.given ? [] : wordsFor(name, field),
    );
    const missing = [...new Set(needed)].filter((word) => !words.includes(word));
    const unknown = words.filter((word, at) => !needed.includes(word) || words.indexOf(word) !== at);
    const where = layout.byte === null ? '' : ` by ${layout.byte}`;
    faults.push(...missing.map((word) => `${word} is not stored${where}`));
    faults.push(...unknown.map((word) => `${word} is stored${where} and should not be`));
  }
  if (layouts.filter(({ when }) => when === null).length !== 1) faults.push('one layout has no condition');
  const flags = Object.values(fields).flatMap(flagOf);
  if (new Set(flags).size !== flags.length) faults.push('a flag has two meanings');
  return faults;
}

/** What a layout must have for a field. */
function wordsFor(name: string, field: Field): string[] {
  if ('value' in field) return [];
  const flags = flagOf(field).length > 0 || field.usual !== undefined ? ['flags'] : [];
  if (isFlag(field)) return flags;
  return [...flags, ...(isList(field) ? [`#${name}`] : []), name];
}

function flagOf(field: Field): number[] {
  if ('value' in field || field.usual !== undefined) return [];
  return field.kind === 'task' ? [1] : field.flag === undefined ? [] : [field.flag];
}

/** The imports of the names that a text uses, in the order in which the linter wants them. */
export function importsOf(body: string, from: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(from)
    .map(([path, names]) =>
      importOf(path, names.filter((name) => new RegExp(`\\b${bare(name)}\\b`).test(body)).sort(byName)),
    )
    .filter((line) => line !== '')
    .join('\n');
}

function importOf(path: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const onlyTypes = names.every((name) => name !== bare(name));
  const listed = onlyTypes ? names.map(bare) : names;
  const start = onlyTypes ? 'import type' : 'import';
  const line = `${start} { ${listed.join(', ')} } from '${path}';`;
  return line.length <= 110
    ? line
    : `${start} {\n${listed.map((name) => `  ${name},\n`).join('')}} from '${path}';`;
}

const bare = (name: string): string => name.replace('type ', '');

/** Letter by letter, a capital before the same small one. */
function byName(a: string, b: string): number {
  const [one, other] = [a, b].map((name) =>
    [...bare(name)]
      .map((letter) => letter.toLowerCase() + (letter === letter.toUpperCase() ? 0 : 1))
      .join(''),
  );
  return one! < other! ? -1 : 1;
}

export const lowerFirst = (name: string): string => name[0]!.toLowerCase() + name.slice(1);
