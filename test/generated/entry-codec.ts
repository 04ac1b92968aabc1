// The codec of entries.
import { WORDS } from '../../src/core/entry-table.ts';
import { ENTRY_DEFINITIONS, RECORD_DEFINITIONS, storedOf } from './definitions.ts';
import { importsOf } from './imports.ts';
import { listOf } from './kinds.ts';
import {
  decoder,
  decoderCases,
  encoder,
  encoderArguments,
  isItem,
  listDecoder,
  listEncoder,
  usualOf,
} from './record-codec.ts';

const TYPES = [...RECORD_DEFINITIONS, ...ENTRY_DEFINITIONS].map(({ name }) => `type ${name}`);
const LISTS = Object.keys(WORDS).map(listOf);
const ITEMS = RECORD_DEFINITIONS.filter(isItem);

const USUAL = ENTRY_DEFINITIONS.flatMap(({ fields }) => storedOf(fields)).filter(
  ([, { usual }]) => usual !== undefined,
);
export const USUAL_NAMES = USUAL.map(([name]) => usualOf(name));

/** Functions for a record, and for lists of it. */
export const PART_NAMES = [
  ...RECORD_DEFINITIONS.map(({ name }) => name),
  ...ITEMS.map(({ name }) => `${name}s`),
];

export function partEncoder(): string {
  const body = `${RECORD_DEFINITIONS.map(encoder).join('\n\n')}

${ITEMS.map(listEncoder).join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/entries.ts': [...LISTS, ...TYPES],
    './byte-writer.ts': ['type ByteWriter'],
    './record-parts.ts': ['encodeOpaque', 'FIXED_MAX', 'type OpaqueArea'],
  });
  return `${head('Writes the records that are parts of entries and of images')}${imports}\n\n${body}`;
}

export function partDecoder(): string {
  const body = `${RECORD_DEFINITIONS.map((definition) => decoder(definition, definition.layouts[0]!)).join('\n\n')}

${ITEMS.map(listDecoder).join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/entries.ts': [...LISTS, ...TYPES],
    './byte-reader.ts': ['type ByteReader'],
    './record-parts.ts': ['known', 'type OpaqueReader'],
  });
  return `${head('Reads the records that are parts of entries and of images')}${imports}\n\n${body}`;
}

function head(does: string): string {
  return `// biome-ignore-all format: generated, one function a record
/** ${does}. Generated from \`src/core/entry-table.ts\` by \`npm run generate\`; a test compares. */
`;
}

export function entryEncoder(): string {
  const body = `${USUAL.map(([name, field]) => `export const ${usualOf(name)} = ${field.usual};`).join('\n')}

export function encodeEntry(out: ByteWriter, area: OpaqueArea, entry: Entry): void {
  out.reserve(FIXED_MAX);
  switch (entry.type) {
${ENTRY_DEFINITIONS.map((definition) => `    case '${definition.name}':\n      return encode${definition.name}(${encoderArguments(definition, 'entry')});`).join('\n')}
    default:
      entry satisfies never;
  }
}

${ENTRY_DEFINITIONS.map(encoder).join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/entries.ts': ['type Entry', ...LISTS, ...TYPES],
    '../core/sessions/session-names.ts': ['firstServiceName'],
    './byte-writer.ts': ['type ByteWriter'],
    './part-encoder.ts': PART_NAMES.map((name) => `encode${name}`),
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
  const body = `/** \`opaques\` reads from the same place as \`source\`. */
export function decodeEntry(source: ByteReader, opaques: OpaqueReader): Entry {
  const type = source.u8();
  switch (type) {
${decoderCases(ENTRY_DEFINITIONS)}
    default:
      throw new LogTooNewError(\`The log holds entries of type \${type}, which this version does not know.\`);
  }
}

/** Lists that are empty are all the same one. */
const NONE: readonly never[] = [];

${layouts
  .sort((a, b) => a.layout.byte! - b.layout.byte!)
  .map(({ definition, layout }) => decoder(definition, layout))
  .join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/entries.ts': ['type Entry', ...LISTS, ...TYPES],
    '../core/sessions/session-names.ts': ['firstServiceName'],
    './byte-reader.ts': ['type ByteReader'],
    './entry-encoder.ts': USUAL_NAMES,
    './log.ts': ['LogTooNewError'],
    './part-decoder.ts': PART_NAMES.map((name) => `decode${name}`),
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
