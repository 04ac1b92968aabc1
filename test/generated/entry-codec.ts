// How entries become bytes and bytes entries: one function to write and one to read for every layout of the table, without
// lookups at run time, so that each of them sees objects of one shape only.
import type { StoredField } from '../../src/core/entry-table.ts';
import { RECORDS, WORDS } from '../../src/core/entry-table.ts';
import {
  constantCase,
  type Definition,
  ENTRY_DEFINITIONS,
  importsOf,
  isFlag,
  isList,
  isOpaque,
  KINDS,
  listOf,
  lowerFirst,
  RECORD_DEFINITIONS,
  type StoredLayout,
  storedOf,
} from './entry-fields.ts';

/** Bytes that are free after `out.reserve(FIXED_MAX)`, and after any text. */
const RESERVED = 80;
const AFTER_TEXT = 32;

const TYPES = [...RECORD_DEFINITIONS, ...ENTRY_DEFINITIONS].map(({ name }) => `type ${name}`);
const LISTS = Object.keys(WORDS).map(listOf);

const USUAL = ENTRY_DEFINITIONS.flatMap(({ fields }) => storedOf(fields)).filter(
  ([, { usual }]) => usual !== undefined,
);

export function entryEncoder(): string {
  const body = `${USUAL.map(([name, field]) => `export const ${usualOf(name)} = ${field.usual};`).join('\n')}

export function encodeEntry(out: ByteWriter, area: OpaqueArea, entry: Entry): void {
  out.reserve(FIXED_MAX);
  switch (entry.type) {
${ENTRY_DEFINITIONS.map((definition) => `    case '${definition.name}':\n      return encode${definition.name}(${encoderArguments(definition).join(', ')});`).join('\n')}
    default:
      entry satisfies never;
  }
}

${[...ENTRY_DEFINITIONS, ...RECORD_DEFINITIONS].map(encoder).join('\n\n')}

${ITEMS.map(listEncoder).join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/entries.ts': ['type Entry', ...LISTS, ...TYPES],
    '../core/sessions/session-names.ts': ['firstServiceName'],
    './byte-writer.ts': ['type ByteWriter'],
    './record-parts.ts': [
      'encodeKey',
      'encodeKeys',
      'encodeNumbers',
      'encodeOpaque',
      'encodeTexts',
      'FIXED_MAX',
      'KEY_IS_STRING',
      'type OpaqueArea',
    ],
  });
  return `// biome-ignore-all format: generated, one function a layout
/**
 * Writes entries as bytes. Generated from \`src/core/entry-table.ts\` by \`npm run generate\`; a test compares.
 */
${imports}

${body}`;
}

export function entryDecoder(): string {
  const layouts = ENTRY_DEFINITIONS.flatMap((definition) =>
    definition.layouts.map((layout) => ({ definition, layout })),
  );
  const cases = layouts
    .sort((a, b) => a.layout.byte! - b.layout.byte!)
    .map(({ definition, layout }) => {
      const parameters = needsOpaques(definition) ? 'source, opaques' : 'source';
      return `    case ${layout.byte}:\n      return ${decoderOf(definition, layout)}(${parameters});`;
    });
  const body = `/** \`opaques\` reads from the same place as \`source\`. */
export function decodeEntry(source: ByteReader, opaques: OpaqueReader): Entry {
  const type = source.u8();
  switch (type) {
${cases.join('\n')}
    default:
      throw new LogTooNewError(\`The log holds entries of type \${type}, which this version does not know.\`);
  }
}

/** Lists that are empty are all the same one. */
const NONE: readonly never[] = [];

${[...layouts, ...RECORD_DEFINITIONS.map((definition) => ({ definition, layout: definition.layouts[0]! }))]
  .map(({ definition, layout }) => decoder(definition, layout))
  .join('\n\n')}

${ITEMS.map(listDecoder).join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/entries.ts': ['type Entry', ...LISTS, ...TYPES],
    '../core/sessions/session-names.ts': ['firstServiceName'],
    './byte-reader.ts': ['type ByteReader'],
    './entry-encoder.ts': USUAL.map(([name]) => usualOf(name)),
    './log.ts': ['LogTooNewError'],
    './record-parts.ts': [
      'decodeKey',
      'decodeKeys',
      'decodeNumbers',
      'decodeTexts',
      'known',
      'type OpaqueReader',
    ],
  });
  return `// biome-ignore-all format: generated, one function a layout
/**
 * Reads entries from bytes, in every layout that was ever written. Generated from \`src/core/entry-table.ts\` by
 * \`npm run generate\`; a test compares.
 */
${imports}

${body}`;
}

/** Records that lists of entries hold. The others are parts of checkpoints as well. */
const ITEMS = RECORD_DEFINITIONS.filter(({ name }) => `${name}[]` in KINDS);
const isPart = (definition: Definition): boolean =>
  definition.layouts[0]!.byte === null && !ITEMS.includes(definition);

const usualOf = (name: string): string => `USUAL_${constantCase(name)}`;

function needsOpaques({ fields }: Definition): boolean {
  return storedOf(fields).some(([, field]) => isOpaque(field) || field.kind === 'FencedWrite[]');
}

const encoderArguments = (definition: Definition): string[] =>
  needsOpaques(definition) ? ['out', 'area', 'entry'] : ['out', 'entry'];

/** Layouts with a condition first. The last one is for everything else. */
function encoder(definition: Definition): string {
  const { name, layouts } = definition;
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
  const exported = isPart(definition) ? 'export ' : '';
  return `${exported}function encode${name}(out: ByteWriter${area}, entry: ${name}): void {\n${ways.join('\n')}\n}`;
}

function written({ fields }: Definition, layout: StoredLayout): string[] {
  const lines: string[] = [];
  const usual = storedOf(fields).filter(([, field]) => field.usual !== undefined);
  if (usual.length > 0) {
    const same = usual.map(([field]) => `entry.${field} === ${usualOf(field)}`);
    lines.push(`const isUsual = ${same.join(' && ')};`);
  }
  // The caller of a record has reserved what it begins with.
  let room = layout.byte === null ? Number.POSITIVE_INFINITY : RESERVED - 1;
  let condition: string | null = null;
  for (const word of layout.words) {
    const field = fields[word.replace('#', '')] as StoredField | undefined;
    if (field?.retired) continue;
    const next = field === undefined ? null : conditionOf(word.replace('#', ''), field);
    if (condition !== next && condition !== null) lines.push('}');
    if (condition !== next && next !== null) lines.push(`if (${next}) {`);
    condition = next;
    const indent = condition === null ? '' : '  ';
    const { head, isFixed } = sizeOf(word, field);
    if (head > room) {
      lines.push(`${indent}out.reserve(FIXED_MAX);`);
      room = RESERVED;
    }
    lines.push(`${indent}${writeOf(word, field, fields, layout)};`);
    const after = isFixed ? room - head : AFTER_TEXT;
    const mayBeNothing = condition !== null || (field !== undefined && isList(field));
    room = mayBeNothing ? Math.min(room, after) : after;
  }
  if (condition !== null) lines.push('}');
  return lines;
}

/** How many bytes a word of a layout begins with that need room, and whether that is all. */
function sizeOf(word: string, field: StoredField | undefined): { head: number; isFixed: boolean } {
  if (word === 'flags') return { head: 1, isFixed: true };
  if (word.startsWith('#')) return { head: 4, isFixed: true };
  const record = field === undefined ? word : field.kind;
  if (RECORDS[record]) return { head: headOf(record), isFixed: false };
  const { size } = KINDS[field!.kind];
  return { head: size ?? 0, isFixed: size !== undefined };
}

function writeOf(
  word: string,
  field: StoredField | undefined,
  fields: Definition['fields'],
  layout: StoredLayout,
): string {
  if (word === 'flags') return `out.u8(${flagsOf(fields, layout)})`;
  if (word.startsWith('#')) return `out.u32(entry.${word.slice(1)}.length)`;
  if (field !== undefined) return KINDS[field.kind].write(`entry.${word}`);
  return `encode${word}(${encoderArguments(definitionOf(word)).join(', ')})`;
}

/** The bytes at the beginning of a record, up to its first text; its caller has reserved them. */
function headOf(record: string): number {
  const { fields, bytes } = RECORDS[record]!;
  let size = 0;
  for (const word of bytes.split(' ')) {
    const fixed = word === 'flags' ? 1 : KINDS[(fields[word] as StoredField).kind].size;
    if (fixed === undefined) break;
    size += fixed;
  }
  return size;
}

const definitionOf = (record: string): Definition => RECORD_DEFINITIONS.find(({ name }) => name === record)!;

/** When a field that may be left out is written; null for one that always is. */
function conditionOf(name: string, field: StoredField): string | null {
  if (field.flag === undefined) return null;
  if (field.usual !== undefined) return '!isUsual';
  return isList(field) ? `entry.${name}.length !== 0` : `entry.${name} !== null`;
}

function flagsOf(fields: Definition['fields'], layout: StoredLayout): string {
  const parts: string[] = [];
  for (const [name, field] of storedOf(fields)) {
    if (name in layout.given) continue;
    if (field.kind === 'task') parts.push(`(typeof entry.${name} === 'string' ? KEY_IS_STRING : 0)`);
    const { flag, words } = field;
    if (flag === undefined) continue;
    const bit = words
      ? `(entry.${name} === '${words[1]}' ? ${flag} : 0)`
      : field.kind === 'boolean'
        ? `(entry.${name} ? ${flag} : 0)`
        : field.usual !== undefined
          ? `(isUsual ? ${flag} : 0)`
          : isList(field)
            ? `(entry.${name}.length === 0 ? 0 : ${flag})`
            : `(entry.${name} === null ? 0 : ${flag})`;
    if (!parts.includes(bit)) parts.push(bit);
  }
  const [only, ...others] = parts;
  return others.length === 0 ? only!.slice(1, -1) : parts.join(' | ');
}

function listEncoder({ name: record }: Definition): string {
  return `function encode${record}s(out: ByteWriter, area: OpaqueArea, list: readonly ${record}[]): void {
  for (const item of list) {
    out.reserve(FIXED_MAX);
    encode${record}(out, area, item);
  }
}`;
}

function listDecoder({ name: record }: Definition): string {
  return `function decode${record}s(source: ByteReader, opaques: OpaqueReader, count: number): ${record}[] {
  const list: ${record}[] = [];
  for (let i = 0; i < count; i++) list.push(decode${record}(source, opaques));
  return list;
}`;
}

const decoderOf = ({ name, layouts }: Definition, { byte }: StoredLayout): string =>
  layouts.length === 1 ? `decode${name}` : `decode${name}${byte}`;

function decoder(definition: Definition, layout: StoredLayout): string {
  const { name, fields } = definition;
  const lines: string[] = [];
  const values: Record<string, string> = {};
  for (const word of layout.words) {
    const record = RECORDS[word];
    if (record) {
      const part = lowerFirst(word);
      lines.push(
        `const ${part} = decode${word}(source${needsOpaques(definitionOf(word)) ? ', opaques' : ''});`,
      );
      for (const [field] of storedOf(record.fields)) values[field] = `${part}.${field}`;
    } else if (word === 'flags') {
      lines.push('const flags = source.u8();');
    } else {
      lines.push(readLine(word, fields));
    }
  }
  for (const [field, value] of storedOf(fields).filter(([, row]) => isFlag(row))) {
    const { flag, words } = value;
    values[field] = words ? `flags & ${flag} ? '${words[1]}' : '${words[0]}'` : `(flags & ${flag}) !== 0`;
  }
  Object.assign(values, layout.given);
  const parts = storedOf(fields).map(([field]) => (field in values ? `${field}: ${values[field]}` : field));
  const type = layout.byte === null ? [] : [`type: '${name}'`];
  const opaques = needsOpaques(definition) ? ', opaques: OpaqueReader' : '';
  const exported = isPart(definition) ? 'export ' : '';
  return `${exported}function ${decoderOf(definition, layout)}(source: ByteReader${opaques}): ${name} {
${[...lines, `return { ${[...type, ...parts].join(', ')} };`].map((line) => `  ${line}`).join('\n')}
}`;
}

function readLine(word: string, fields: Definition['fields']): string {
  const name = word.replace('#', '');
  const field = fields[name] as StoredField;
  const { read } = KINDS[field.kind];
  if (field.retired) return `if (flags & ${field.flag}) ${read};`;
  if (word.startsWith('#')) {
    return `const ${name}Count = ${field.flag === undefined ? 'source.u32()' : `flags & ${field.flag} ? source.u32() : 0`};`;
  }
  if (isList(field))
    return `const ${name} = ${name}Count === 0 ? NONE : ${read.replace('COUNT', `${name}Count`)};`;
  if (field.usual !== undefined) return `const ${name} = flags & ${field.flag} ? ${usualOf(name)} : ${read};`;
  if (field.flag !== undefined) return `const ${name} = flags & ${field.flag} ? ${read} : null;`;
  return `const ${name} = ${read};`;
}
