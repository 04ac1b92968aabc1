// The codec of image records.
import { ROW_WORDS } from '../../src/core/row-table.ts';
import { IMAGE_DEFINITIONS } from './definitions.ts';
import { PART_NAMES, USUAL_NAMES } from './entry-codec.ts';
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
} from './record-codec.ts';

const RECORDS = IMAGE_DEFINITIONS.filter(({ tag }) => tag !== null);
const ITEMS = IMAGE_DEFINITIONS.filter(isItem);
const IMAGES = [
  'type ImageRecord',
  ...Object.keys(ROW_WORDS).map(listOf),
  ...IMAGE_DEFINITIONS.map(({ name }) => `type ${name}`),
];

export function imageEncoder(): string {
  const body = `export function encodeImage(out: ByteWriter, area: OpaqueArea, record: ImageRecord): void {
  out.reserve(FIXED_MAX);
  switch (record.kind) {
${RECORDS.map((definition) => `    case '${definition.subject}':\n      return encode${definition.name}(${encoderArguments(definition, 'record')});`).join('\n')}
    default:
      record satisfies never;
  }
}

${IMAGE_DEFINITIONS.map(encoder).join('\n\n')}

${ITEMS.map(listEncoder).join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/image.ts': IMAGES,
    '../core/sessions/session-names.ts': ['firstServiceName'],
    './byte-writer.ts': ['type ByteWriter'],
    './entry-encoder.ts': USUAL_NAMES,
    './part-encoder.ts': PART_NAMES.map((name) => `encode${name}`),
    './record-parts.ts': [
      'encodeKey',
      'encodeNumbers',
      'encodeOpaque',
      'encodeTexts',
      'encodeTokens',
      'FIXED_MAX',
      'KEY_IS_STRING',
      'type OpaqueArea',
    ],
  });
  return `// biome-ignore-all format: generated, one function a layout
/**
 * Writes the records of a state image as bytes. What is zero for most rows is left out behind a flag, because a start
 * with a million waiting tasks is as fast as this is small. Generated from \`src/core/row-table.ts\` by \`npm run
 * generate\`; a test compares.
 */
${imports}

${body}`;
}

export function imageDecoder(): string {
  const body = `/** \`opaques\` reads from the same place as \`source\`. */
export function decodeImage(source: ByteReader, opaques: OpaqueReader): ImageRecord {
  const kind = source.u8();
  switch (kind) {
${decoderCases(IMAGE_DEFINITIONS)}
    default:
      throw new LogTooNewError(\`The checkpoint holds records of kind \${kind}, which this version does not know.\`);
  }
}

/** Lists that are empty are all the same one. */
const NONE: readonly never[] = [];

${IMAGE_DEFINITIONS.flatMap((definition) => definition.layouts.map((layout) => decoder(definition, layout))).join('\n\n')}

${ITEMS.map(listDecoder).join('\n\n')}
`;
  const imports = importsOf(body, {
    '../core/image.ts': IMAGES,
    '../core/sessions/session-names.ts': ['firstServiceName'],
    './byte-reader.ts': ['type ByteReader'],
    './entry-encoder.ts': USUAL_NAMES,
    './log.ts': ['LogTooNewError'],
    './part-decoder.ts': PART_NAMES.map((name) => `decode${name}`),
    './record-parts.ts': [
      'decodeKey',
      'decodeNumbers',
      'decodeTexts',
      'decodeTokens',
      'known',
      'type OpaqueReader',
    ],
  });
  return `// biome-ignore-all format: generated, one function a layout
/**
 * Reads the records of a state image from bytes, in every layout that was ever written. Generated from
 * \`src/core/row-table.ts\` by \`npm run generate\`; a test compares.
 */
${imports}

${body}`;
}
