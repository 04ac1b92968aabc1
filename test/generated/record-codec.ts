// How records become bytes and bytes records: one function to write and one to read for every layout of the tables, without
// lookups at run time, so that each of them sees objects of one shape only.
import {
  type Definition,
  type Field,
  isFlag,
  isList,
  isOpaque,
  isThere,
  lowerFirst,
  recordNamed,
  type StoredField,
  type StoredLayout,
  storedOf,
} from './definitions.ts';
import { constantCase, KINDS } from './kinds.ts';

/** Bytes that are free after `out.reserve(FIXED_MAX)`, and after any text. */
const RESERVED = 80;
const AFTER_TEXT = 32;

export const usualOf = (name: string): string => `USUAL_${constantCase(name)}`;

/** Whether lists of this record are stored. */
export const isItem = ({ name }: Definition): boolean => `${name}[]` in KINDS;

function needsOpaques({ fields }: Definition): boolean {
  return storedOf(fields).some(([, field]) => {
    const record = recordNamed(field.kind.replace('[]', ''));
    return isOpaque(field) || (record !== undefined && needsOpaques(record));
  });
}

export const encoderArguments = (definition: Definition, value: string): string =>
  (needsOpaques(definition) ? ['out', 'area', value] : ['out', value]).join(', ');

/** Layouts with a condition first. The last one is for everything else. */
export function encoder(definition: Definition): string {
  const { name, subject, layouts } = definition;
  const area = needsOpaques(definition) ? ', area: OpaqueArea' : '';
  const ways = [...layouts]
    .sort((a, b) => Number(a.when === null) - Number(b.when === null))
    .map((layout) => {
      const lines = [
        ...(layout.byte === null ? [] : [`out.u8(${layout.byte});`]),
        ...written(definition, layout),
      ];
      return layout.when === null
        ? lines.map((line) => `  ${line}`).join('\n')
        : `  if (${layout.when}) {\n${[...lines, 'return;'].map((line) => `    ${line}`).join('\n')}\n  }`;
    });
  const exported = definition.tag === null && subject === 'entry' ? 'export ' : '';
  return `${exported}function encode${name}(out: ByteWriter${area}, ${subject}: ${name}): void {\n${ways.join('\n')}\n}`;
}

function written(definition: Definition, layout: StoredLayout): string[] {
  const { fields, subject } = definition;
  const lines = sharedFlags(definition, layout);
  // The caller of a record has reserved what it begins with.
  let room = layout.byte === null ? Number.POSITIVE_INFINITY : RESERVED - 1;
  // What is left when the words of the present condition are left out.
  let roomWithout = room;
  let condition: string | null = null;
  for (const word of layout.words) {
    const name = word.replace('#', '');
    const field = fields[name] as StoredField | undefined;
    if (field?.retired) continue;
    const next = field === undefined ? null : conditionOf(`${subject}.${name}`, field);
    if (condition !== next && condition !== null) {
      lines.push('}');
      room = Math.min(room, roomWithout);
    }
    if (condition !== next && next !== null) {
      lines.push(`if (${next}) {`);
      roomWithout = room;
    }
    condition = next;
    const indent = condition === null ? '' : '  ';
    const { head, isFixed } = sizeOf(word, field, definition, layout);
    if (head > room) {
      lines.push(`${indent}out.reserve(FIXED_MAX);`);
      room = RESERVED;
    }
    lines.push(`${indent}${writeOf(word, field, definition, layout)};`);
    const after = isFixed ? room - head : AFTER_TEXT;
    room = field !== undefined && isList(field) ? Math.min(room, after) : after;
  }
  if (condition !== null) lines.push('}');
  return lines;
}

/** Flags that several fields share are worked out first. */
function sharedFlags({ fields, subject }: Definition, layout: StoredLayout): string[] {
  const stored = storedOf(fields).filter(([name]) => !(name in layout.given));
  const lines: string[] = [];
  const usual = stored.filter(([, field]) => field.usual !== undefined);
  if (usual.length > 0) {
    const same = usual.map(([field]) => `${subject}.${field} === ${usualOf(field)}`);
    lines.push(`const isUsual = ${same.join(' && ')};`);
  }
  const withouts = stored.filter(([, field]) => field.without !== undefined);
  for (const flag of new Set(withouts.map(([, field]) => field.flag!))) {
    const there = withouts
      .filter(([, field]) => field.flag === flag)
      .map(([name, field]) => isThere(`${subject}.${name}`, field));
    lines.push(`const has${flag} = ${there.join(' || ')};`);
  }
  return lines;
}

/** How many bytes a word of a layout begins with that need room, and whether that is all. */
function sizeOf(
  word: string,
  field: StoredField | undefined,
  definition: Definition,
  layout: StoredLayout,
): { head: number; isFixed: boolean } {
  if (word === 'flags') return { head: flagBits(definition, layout) / 8, isFixed: true };
  if (word.startsWith('#')) return { head: 4, isFixed: true };
  const record = recordNamed(field === undefined ? word : field.kind);
  if (record) return { head: headOf(record), isFixed: false };
  const { size } = KINDS[field!.kind];
  return { head: size ?? 0, isFixed: size !== undefined };
}

/** As many as the highest flag of the layout demands. */
function flagBits({ fields }: Definition, layout: StoredLayout): 8 | 16 | 32 {
  const flags = storedOf(fields).map(([name, { flag }]) => (name in layout.given ? 0 : (flag ?? 0)));
  const highest = Math.max(...flags);
  return highest < 2 ** 8 ? 8 : highest < 2 ** 16 ? 16 : 32;
}

function writeOf(
  word: string,
  field: StoredField | undefined,
  definition: Definition,
  layout: StoredLayout,
): string {
  const { subject } = definition;
  if (word === 'flags') return `out.u${flagBits(definition, layout)}(${flagsOf(definition, layout)})`;
  if (word.startsWith('#'))
    return `out.${KINDS[field!.kind].count ?? 'u32'}(${subject}.${word.slice(1)}.length)`;
  if (field !== undefined) return KINDS[field.kind].write(`${subject}.${word}`);
  return `encode${word}(${encoderArguments(recordNamed(word)!, subject)})`;
}

/** The bytes at the beginning of a record, up to its first text; its caller has reserved them. */
function headOf(record: Definition): number {
  let size = 0;
  for (const word of record.layouts[0]!.words) {
    const field = record.fields[word] as StoredField | undefined;
    const { head, isFixed } = sizeOf(word, field, record, record.layouts[0]!);
    if (!isFixed) break;
    size += head;
  }
  return size;
}

/** When a field that may be left out is written; null for one that always is. */
function conditionOf(value: string, field: StoredField): string | null {
  if (field.flag === undefined) return null;
  if (field.usual !== undefined) return '!isUsual';
  return field.without === undefined ? isThere(value, field) : `has${field.flag}`;
}

function flagsOf({ fields, subject }: Definition, layout: StoredLayout): string {
  const parts: string[] = [];
  for (const [name, field] of storedOf(fields)) {
    if (name in layout.given) continue;
    const value = `${subject}.${name}`;
    if (field.kind === 'task') parts.push(`(typeof ${value} === 'string' ? KEY_IS_STRING : 0)`);
    const bit = flagBitOf(value, field);
    if (bit !== null && !parts.includes(bit)) parts.push(bit);
  }
  const [only, ...others] = parts;
  return others.length === 0 ? only!.slice(1, -1) : parts.join(' | ');
}

function flagBitOf(value: string, field: StoredField): string | null {
  const { flag, words, usual, without } = field;
  if (flag === undefined) return null;
  if (words) return `(${value} === '${words[1]}' ? ${flag} : 0)`;
  if (field.kind === 'boolean') return `(${value} ? ${flag} : 0)`;
  if (usual !== undefined) return `(isUsual ? ${flag} : 0)`;
  if (without !== undefined) return `(has${flag} ? ${flag} : 0)`;
  return isList(field) ? `(${value}.length === 0 ? 0 : ${flag})` : `(${value} === null ? 0 : ${flag})`;
}

export function listEncoder({ name: record, subject }: Definition): string {
  return `${subject === 'entry' ? 'export ' : ''}function encode${record}s(out: ByteWriter, area: OpaqueArea, list: readonly ${record}[]): void {
  for (const item of list) {
    out.reserve(FIXED_MAX);
    encode${record}(out, area, item);
  }
}`;
}

export function listDecoder({ name: record, subject }: Definition): string {
  return `${subject === 'entry' ? 'export ' : ''}function decode${record}s(source: ByteReader, opaques: OpaqueReader, count: number): ${record}[] {
  const list: ${record}[] = [];
  for (let i = 0; i < count; i++) list.push(decode${record}(source, opaques));
  return list;
}`;
}

const decoderOf = ({ name, layouts }: Definition, { byte }: StoredLayout): string =>
  layouts.length === 1 ? `decode${name}` : `decode${name}${byte}`;

/** The cases of a switch over type numbers, in their order. */
export function decoderCases(definitions: readonly Definition[]): string {
  return definitions
    .flatMap((definition) => definition.layouts.map((layout) => ({ definition, layout, byte: layout.byte })))
    .filter(({ byte }) => byte !== null)
    .sort((a, b) => a.byte! - b.byte!)
    .map(({ definition, layout, byte }) => {
      const parameters = needsOpaques(definition) ? 'source, opaques' : 'source';
      return `    case ${byte}:\n      return ${decoderOf(definition, layout)}(${parameters});`;
    })
    .join('\n');
}

export function decoder(definition: Definition, layout: StoredLayout): string {
  const { name, subject, tag, fields } = definition;
  const lines: string[] = [];
  const values: Record<string, string> = {};
  for (const word of layout.words) {
    const record = fields[word] === undefined ? recordNamed(word) : undefined;
    if (record) {
      const part = lowerFirst(word);
      lines.push(`const ${part} = decode${word}(source${needsOpaques(record) ? ', opaques' : ''});`);
      for (const [field] of storedOf(record.fields)) values[field] = `${part}.${field}`;
    } else if (word === 'flags') {
      lines.push(`const flags = source.u${flagBits(definition, layout)}();`);
    } else {
      lines.push(readLine(word, fields));
    }
  }
  for (const [field, value] of storedOf(fields).filter(([name, row]) => isFlag(row) && !(name in values))) {
    const { flag, words } = value;
    values[field] = words ? `flags & ${flag} ? '${words[1]}' : '${words[0]}'` : `(flags & ${flag}) !== 0`;
  }
  Object.assign(values, layout.given);
  const parts = storedOf(fields).map(([field]) => (field in values ? `${field}: ${values[field]}` : field));
  const opaques = needsOpaques(definition) ? ', opaques: OpaqueReader' : '';
  const exported = definition.tag === null && subject === 'entry' ? 'export ' : '';
  return `${exported}function ${decoderOf(definition, layout)}(source: ByteReader${opaques}): ${name} {
${[...lines, `return { ${[...(tag === null ? [] : [tag]), ...parts].join(', ')} };`].map((line) => `  ${line}`).join('\n')}
}`;
}

function readLine(word: string, fields: Readonly<Record<string, Field>>): string {
  const name = word.replace('#', '');
  const field = fields[name] as StoredField;
  const { read, count = 'u32' } = KINDS[field.kind];
  if (field.retired) return `if (flags & ${field.flag}) ${read};`;
  if (word.startsWith('#')) {
    return `const ${name}Count = ${field.flag === undefined ? `source.${count}()` : `flags & ${field.flag} ? source.${count}() : 0`};`;
  }
  if (isList(field))
    return `const ${name} = ${name}Count === 0 ? NONE : ${read.replace('COUNT', `${name}Count`)};`;
  if (field.usual !== undefined) return `const ${name} = flags & ${field.flag} ? ${usualOf(name)} : ${read};`;
  if (field.flag !== undefined)
    return `const ${name} = flags & ${field.flag} ? ${read} : ${field.without ?? 'null'};`;
  return `const ${name} = ${read};`;
}
