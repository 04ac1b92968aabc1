// The layouts of entries in `docs/log-format.md`, and their names in `docs/embedding.md`.
import { RECORDS, type StoredField, WORDS } from '../../src/core/entry-table.ts';
import {
  type Definition,
  ENTRY_DEFINITIONS,
  isFlag,
  KINDS,
  RECORD_DEFINITIONS,
  type StoredLayout,
  storedOf,
} from './entry-fields.ts';

export function logFormatPage(now: string): string {
  const rows = ENTRY_DEFINITIONS.flatMap((definition) =>
    definition.layouts.map((layout) => ({ definition, layout, byte: layout.byte! })),
  );
  const entries = rows
    .sort((a, b) => a.byte - b.byte)
    .map(
      ({ definition, layout, byte }) =>
        `| ${byte} | \`${definition.name}\` | ${bytesOf(definition, layout)} |`,
    );
  const records = RECORD_DEFINITIONS.map(
    (definition) => `| \`${definition.name}\` | ${bytesOf(definition, definition.layouts[0]!)} |`,
  );
  const words = Object.entries(WORDS).map(
    ([name, { list }]) => `| \`${name}\` | ${list.map((word, place) => `${place} ${word}`).join(', ')} |`,
  );
  const tables = [
    ['| type | entry | bytes after the type |', '|---|---|---|', ...entries],
    ['| part | bytes |', '|---|---|', ...records],
    ['| word | u8 |', '|---|---|', ...words],
  ];
  return replaced(now, 'layouts', tables.map((lines) => lines.join('\n')).join('\n\n'));
}

export function embeddingPage(now: string): string {
  const names = ENTRY_DEFINITIONS.map(({ name }) => `\`${name}\``);
  return replaced(now, 'entries', `The types of entries: ${names.join(', ')}.`);
}

/** The page with the part between its two marks replaced; everything around them is written by hand. */
function replaced(now: string, what: string, text: string): string {
  const begin = `<!-- ${what}: generated from src/core/entry-table.ts by \`npm run generate\` -->`;
  const [head, rest] = now.split(begin) as [string, string];
  return `${head}${begin}\n\n${text}\n\n${rest.slice(rest.indexOf(`<!-- end of the ${what} -->`))}`;
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
  if (RECORDS[word]) return `the fields of \`${word}\``;
  if (word.startsWith('#')) return `u32 length of \`${word.slice(1)}\``;
  const { kind, usual } = fields[word] as StoredField;
  const { layout } = KINDS[kind];
  const form = kind in WORDS || kind in RECORDS ? `\`${kind}\`` : layout;
  return `\`${word}\`${form === '' ? '' : ` ${form}`}${usual === undefined ? '' : ` (else ${usual})`}`;
}

function conditionOf(field: StoredField | undefined): string {
  if (field?.flag === undefined) return '';
  if (field.usual !== undefined) return `unless flag ${field.flag} `;
  return `if flag ${field.flag}${field.retired ? ', in older logs only,' : ''} `;
}
