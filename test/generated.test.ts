// Files that are generated from definitions, compared with what the definitions say now. `npm run generate` writes them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { clientTable } from './generated/client-table.ts';
import { errorsPage } from './generated/errors-page.ts';
import { httpPage } from './generated/http-page.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const isWriting = process.env.LEASEHOLD_GENERATE === '1';

/** Each file, and its text made from what is there now. */
const GENERATED: Readonly<Record<string, (now: string) => string>> = {
  'src/client/operation-table.ts': clientTable,
  'docs/errors.md': errorsPage,
  'docs/http.md': httpPage,
};

describe('generated files', () => {
  it.each(Object.entries(GENERATED))('%s says what the definitions say', (path, generate) => {
    const file = join(root, path);
    const now = readFileSync(file, 'utf8');
    const text = generate(now);
    if (isWriting) writeFileSync(file, text);
    else expect(now, 'run `npm run generate`').toBe(text);
  });
});
