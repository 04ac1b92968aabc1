// Files that are generated from definitions, compared with what the definitions say now. `npm run generate` writes them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkersTable } from './generated/checkers-table.ts';
import { cliPage } from './generated/cli-page.ts';
import { clientTable } from './generated/client-table.ts';
import {
  type Definition,
  ENTRY_DEFINITIONS,
  faultsOf,
  IMAGE_DEFINITIONS,
  RECORD_DEFINITIONS,
} from './generated/definitions.ts';
import { entryDecoder, entryEncoder, partDecoder, partEncoder } from './generated/entry-codec.ts';
import { embeddingPage, logFormatPage } from './generated/entry-docs.ts';
import {
  entryInterfaces,
  entryOpaques,
  entryShapes,
  entryToJsonFile,
  entryTypeList,
} from './generated/entry-types.ts';
import { errorsPage } from './generated/errors-page.ts';
import { httpPage } from './generated/http-page.ts';
import { imageDecoder, imageEncoder } from './generated/image-codec.ts';
import { manPage } from './generated/man-page.ts';
import { metricsPage } from './generated/metrics-page.ts';
import { imageTypes, rowColumns, rowObjects } from './generated/row-columns.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const isWriting = process.env.LEASEHOLD_GENERATE === '1';

/** Each generated file, and its text generated now. */
const GENERATED: Readonly<Record<string, (now: string) => string>> = {
  'src/client/operation-table.ts': clientTable,
  'src/core/entries.ts': entryInterfaces,
  'src/core/entry-opaques.ts': entryOpaques,
  'src/core/entry-to-json.ts': entryToJsonFile,
  'src/core/image.ts': imageTypes,
  'src/core/row-columns.ts': rowColumns,
  'src/core/row-objects.ts': rowObjects,
  'src/engines/entry-decoder.ts': entryDecoder,
  'src/engines/entry-encoder.ts': entryEncoder,
  'src/engines/image-decoder.ts': imageDecoder,
  'src/engines/image-encoder.ts': imageEncoder,
  'src/engines/part-decoder.ts': partDecoder,
  'src/engines/part-encoder.ts': partEncoder,
  'src/protocol/entry-shapes.ts': entryShapes,
  'src/protocol/entry-types.ts': entryTypeList,
  'docs/cli.md': cliPage,
  'docs/embedding.md': embeddingPage,
  'docs/errors.md': errorsPage,
  'docs/http.md': httpPage,
  'docs/leasehold.1': manPage,
  'docs/log-format.md': logFormatPage,
  'docs/metrics.md': metricsPage,
  'docs/testing.md': checkersTable,
};

describe('generated files', () => {
  it.each(Object.entries(GENERATED))('%s says what the definitions say', (path, generate) => {
    const file = join(root, path);
    const now = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const text = generate(now);
    if (isWriting) writeFileSync(file, text);
    else expect(now, 'run `npm run generate`').toBe(text);
  });
});

describe('the tables of entries and of rows', () => {
  it.each([...RECORD_DEFINITIONS, ...ENTRY_DEFINITIONS, ...IMAGE_DEFINITIONS])(
    'store every field of $name',
    (definition) => {
      expect(faultsOf(definition)).toEqual([]);
    },
  );

  it.each([
    ['type', ENTRY_DEFINITIONS],
    ['kind', IMAGE_DEFINITIONS.filter(({ tag }) => tag !== null)],
  ])('have no %s number twice', (_, definitions) => {
    const bytes = definitions.flatMap(({ layouts }) => layouts.map(({ byte }) => byte));
    expect(new Set(bytes).size).toBe(bytes.length);
  });

  it('notice a field that is not stored, one that is no field, and a flag with two meanings', () => {
    const faultsWith = (fields: Definition['fields'], words: string) =>
      faultsOf({
        fields,
        layouts: [{ byte: 99, words: words.split(' '), when: null, given: {}, note: null }],
      });
    const task = { kind: 'task' } as const;
    expect(faultsWith({ task, reason: { kind: 'text' } }, 'flags task reason')).toEqual([]);
    expect(faultsWith({ task, reason: { kind: 'text' } }, 'flags task')).toEqual([
      'reason is not stored by 99',
    ]);
    expect(faultsWith({ task }, 'task')).toEqual(['flags is not stored by 99']);
    expect(faultsWith({ names: { kind: 'text[]' } }, 'names')).toEqual(['#names is not stored by 99']);
    expect(faultsWith({ task }, 'flags task reason')).toEqual(['reason is stored by 99 and should not be']);
    expect(faultsWith({ task }, 'flags task task')).toEqual(['task is stored by 99 and should not be']);
    expect(faultsWith({ task, counted: { kind: 'boolean', flag: 1 } }, 'flags task')).toEqual([
      'a flag has two meanings',
    ]);
  });
});
