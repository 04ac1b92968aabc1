// The layouts of entries and of image records in `docs/log-format.md`, and their names in `docs/embedding.md`.
import { WORDS } from '../../src/core/entry-table.ts';
import { ROW_WORDS } from '../../src/core/row-table.ts';
import {
  type Definition,
  ENTRY_DEFINITIONS,
  IMAGE_DEFINITIONS,
  isFlag,
  RECORD_DEFINITIONS,
  recordNamed,
  type StoredField,
  type StoredLayout,
  storedOf,
} from './definitions.ts';
import { handleNames } from './entry-types.ts';
import { ALL_WORDS, KINDS } from './kinds.ts';

export function logFormatPage(now: string): string {
  const entries = [
    ['| type | entry | bytes after the type |', '|---|---|---|', ...layoutRows(ENTRY_DEFINITIONS)],
    ['| part | bytes |', '|---|---|', ...partRows(RECORD_DEFINITIONS)],
    ['| word | u8 |', '|---|---|', ...wordRows(WORDS)],
  ];
  const images = [
    ['| kind | record | bytes after the kind |', '|---|---|---|', ...layoutRows(IMAGE_DEFINITIONS)],
    ['| part | bytes |', '|---|---|', ...partRows(IMAGE_DEFINITIONS)],
    ['| word | u8 |', '|---|---|', ...wordRows(ROW_WORDS)],
  ];
  const texts = [entries, images].map((tables) => tables.map((lines) => lines.join('\n')).join('\n\n'));
  return replaced(
    replaced(now, 'layouts', 'entry-table.ts', texts[0]!),
    'image layouts',
    'row-table.ts',
    texts[1]!,
  );
}

export function embeddingPage(now: string): string {
  const rows = ENTRY_DEFINITIONS.map((definition) => {
    const names = handleNames(definition).map((name) => `\`${name}\``);
    return `| \`${definition.name}\` | ${names.join(', ')} |`;
  });
  const table = ['| `type` | fields beside `seq`, `at` and `type` |', '|---|---|', ...rows].join('\n');
  return replaced(now, 'entries', 'entry-table.ts', table);
}

/** The page with the part between its two marks replaced; everything around them is written by hand. */
function replaced(now: string, what: string, table: string, text: string): string {
  const begin = `<!-- ${what}: generated from src/core/${table} by \`npm run generate\` -->`;
  const [head, rest] = now.split(begin) as [string, string];
  return `${head}${begin}\n\n${text}\n\n${rest.slice(rest.indexOf(`<!-- end of the ${what} -->`))}`;
}

function layoutRows(definitions: readonly Definition[]): string[] {
  return definitions
    .flatMap((definition) => definition.layouts.map((layout) => ({ definition, layout, byte: layout.byte })))
    .filter(({ byte }) => byte !== null)
    .sort((a, b) => a.byte! - b.byte!)
    .map(
      ({ definition, layout, byte }) =>
        `| ${byte} | \`${definition.name}\` | ${bytesOf(definition, layout)} |`,
    );
}

function partRows(definitions: readonly Definition[]): string[] {
  return definitions
    .filter(({ tag }) => tag === null)
    .map((definition) => `| \`${definition.name}\` | ${bytesOf(definition, definition.layouts[0]!)} |`);
}

function wordRows(words: Readonly<Record<string, { readonly list: readonly string[] }>>): string[] {
  return Object.entries(words).map(
    ([name, { list }]) => `| \`${name}\` | ${list.map((word, place) => `${place} ${word}`).join(', ')} |`,
  );
}

/** Fields that are there under the same condition stand together. */
function bytesOf({ fields }: Definition, layout: StoredLayout): string {
  const parts: { condition: string; words: string[] }[] = [];
  for (const word of layout.words) {
    const condition = conditionOf(fields[word.replace('#', '')] as StoredField | undefined);
    const last = parts.at(-1);
    if (last?.condition === condition) last.words.push(wordOf(word, fields));
    else parts.push({ condition, words: [wordOf(word, fields)] });
  }
  const stored = parts.map(({ condition, words }) => `${condition}${words.join(', ')}`);
  const flags = storedOf(fields)
    .filter(([name, field]) => isFlag(field) && !(name in layout.given))
    .map(([name, { flag, words }]) =>
      words ? `\`${name}\` is ${words[1]} if flag ${flag}, else ${words[0]}` : `\`${name}\` is flag ${flag}`,
    );
  return [...stored, ...flags, ...(layout.note === null ? [] : [layout.note])].join('; ');
}

function wordOf(word: string, fields: Definition['fields']): string {
  if (word === 'flags') return 'flags';
  if (fields[word] === undefined && recordNamed(word)) return `the fields of \`${word}\``;
  const { kind, usual, without } = fields[word.replace('#', '')] as StoredField;
  if (word.startsWith('#')) return `${KINDS[kind].count ?? 'u32'} length of \`${word.slice(1)}\``;
  const { layout } = KINDS[kind];
  const form = kind in ALL_WORDS || recordNamed(kind) ? `\`${kind}\`` : layout;
  const otherwise = usual ?? (without === '0' ? without : undefined);
  return `\`${word}\`${form === '' ? '' : ` ${form}`}${otherwise === undefined ? '' : ` (else ${otherwise})`}`;
}

function conditionOf(field: StoredField | undefined): string {
  if (field?.flag === undefined) return '';
  if (field.usual !== undefined) return `unless flag ${field.flag} `;
  return `if flag ${field.flag}${field.retired ? ', in older logs only,' : ''} `;
}
