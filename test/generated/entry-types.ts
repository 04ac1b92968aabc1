// The types of entries, the list of their names, how JSON shows them, and which of their fields are opaque.

import { type Kind, WORDS } from '../../src/core/entry-table.ts';
import { camelName } from '../../src/protocol/camel-case.ts';
import {
  type Definition,
  ENTRY_DEFINITIONS,
  type Field,
  isNullable,
  isOpaque,
  isShown,
  RECORD_DEFINITIONS,
  storedOf,
} from './definitions.ts';
import { importsOf } from './imports.ts';
import { KINDS, listOf } from './kinds.ts';

const BY = 'Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares.';

export function entryInterfaces(): string {
  const words = Object.entries(WORDS).map(
    ([name, { list }]) =>
      `export const ${listOf(name)} = [${list.map((word) => `'${word}'`).join(', ')}] as const;\nexport type ${name} = (typeof ${listOf(name)})[number];`,
  );
  return `// biome-ignore-all format: generated, one field a line
/**
 * The facts. Every change is exactly one of these entries at a position \`seq\` of the log and a time \`at\`; both stand
 * beside the entry, not in it. Entries record outcomes, so that replay makes no choice and needs no clock.
 * ${BY}
 */
import type { Opaque } from './opaque.ts';

/** How an entry names a task: the \`seq\` of its creation when leasehold chose the id, else the id its creator chose. */
export type TaskKey = number | string;

${words.join('\n\n')}

${[...RECORD_DEFINITIONS, ...ENTRY_DEFINITIONS].map(interfaceOf).join('\n\n')}

export type Entry =
${ENTRY_DEFINITIONS.map(({ name }) => `  | ${name}`).join('\n')};

export type EntryType = Entry['type'];
`;
}

export function interfaceOf({ name, tag, says, fields }: Definition): string {
  const lines = tag === null ? [] : [`  readonly ${tag};`];
  for (const [field, row] of storedOf(fields)) {
    if (row.says !== undefined) lines.push(`  /** ${row.says} */`);
    const type = row.words ? row.words.map((word) => `'${word}'`).join(' | ') : KINDS[row.kind].type;
    lines.push(`  readonly ${field}: ${type}${isNullable(row) ? ' | null' : ''};`);
  }
  return `${says === undefined ? '' : `/** ${says} */\n`}export interface ${name} {\n${lines.join('\n')}\n}`;
}

export function entryTypeList(): string {
  return `// biome-ignore-all format: generated, one type a line
/** Every type an entry of the log can have. ${BY} */
import type { Entry } from '../core/entries.ts';

export type EntryType = Entry['type'];

export const ENTRY_TYPES: readonly EntryType[] = [
${ENTRY_DEFINITIONS.map(({ name }) => `  '${name}',`).join('\n')}
];
`;
}

export function entryToJsonFile(): string {
  const body = `export function entryToJson(entry: Entry, seq: number, atMs: number, { instant, open }: Rendering): EntryJson {
  switch (entry.type) {
${ENTRY_DEFINITIONS.map(
  (definition) =>
    `    case '${definition.name}':\n      return {\n        type: entry.type,\n${shownLines(definition)
      .map((line) => `        ${line}`)
      .join('\n')}\n      };`,
).join('\n')}
  }
}

function fencedWriteToJson(entry: FencedWrite, open: Rendering['open']) {
  return {
${shownLines(RECORD_DEFINITIONS.find(({ name }) => name === 'FencedWrite')!)
  .map((line) => `    ${line}`)
  .join('\n')}
  };
}
`;
  const imports = importsOf(body, {
    './entries.ts': ['type Entry', 'type FencedWrite'],
    './entry-json.ts': [
      'type EntryJson',
      'hex',
      'intentToJson',
      'type Rendering',
      'taskIdOfKey',
      'rateToJson',
      'traceToJson',
    ],
    './ids.ts': ['leaseIdOfSeq', 'sessionIdOfSeq'],
    './reserved-names.ts': ['START_QUEUE'],
    './sessions/session-names.ts': ['firstServiceName'],
  });
  return `// biome-ignore-all format: generated, one field a line
/** Entries as people read them. ${BY} */
${imports}

${body}`;
}

/** Names with a dot that follow one another stand in one object. */
function shownLines({ fields }: Definition): string[] {
  const lines: string[] = [];
  const shown = Object.entries(fields).filter(([, row]) => isShown(row));
  for (let at = 0; at < shown.length; at++) {
    const [field, row] = shown[at]!;
    const [group, inner] = jsonNameOf(field, row).split('.');
    if (inner === undefined) {
      lines.push(shownLine(field, row));
      continue;
    }
    const parts: string[] = [];
    for (; jsonNameOf(...(shown[at] ?? ['', { value: '' }])).startsWith(`${group}.`); at++) {
      const [name, part] = shown[at]!;
      parts.push(`${jsonNameOf(name, part).slice(group!.length + 1)}: ${shownValue(name, part)}`);
    }
    at--;
    lines.push(`${group}: { ${parts.join(', ')} },`);
  }
  return lines;
}

function jsonNameOf(name: string, row: Field): string {
  return 'value' in row ? name : row.json!;
}

function shownLine(field: string, row: Field): string {
  const part = `${jsonNameOf(field, row)}: ${shownValue(field, row)}`;
  if (isAlways(row)) return `${part},`;
  return `...(${row.shown ?? `entry.${field} !== null`} ? { ${part} } : {}),`;
}

function shownValue(field: string, row: Field): string {
  if ('value' in row) return row.value;
  const value = `entry.${field}`;
  const shown = KINDS[row.kind].show(value);
  const isNull = row.shown === 'always' && isNullable(row) && shown !== value;
  return isNull ? `${value} === null ? null : ${shown}` : shown;
}

export function entryOpaques(): string {
  const cases = ENTRY_DEFINITIONS.map(({ name, fields }) => [name, opaqueParts(fields)] as const).filter(
    ([, parts]) => parts.length > 0,
  );
  return `// biome-ignore-all format: generated, one type a line
/** Which opaque bytes an entry carries, in the order in which its codec writes them. ${BY} */
import type { Entry } from './entries.ts';
import type { Opaque } from './opaque.ts';

const NONE: readonly Opaque[] = [];

export function opaquesOf(entry: Entry): readonly (Opaque | null)[] {
  switch (entry.type) {
${cases.map(([name, parts]) => `    case '${name}':\n      return [${parts.join(', ')}];`).join('\n')}
    default:
      return NONE;
  }
}
`;
}

function opaqueParts(fields: Definition['fields']): string[] {
  return storedOf(fields).flatMap(([name, row]) => {
    if (isOpaque(row)) return [`entry.${name}`];
    const record = RECORD_DEFINITIONS.find((definition) => row.kind === `${definition.name}[]`);
    const inner = record === undefined ? [] : storedOf(record.fields).filter(([, field]) => isOpaque(field));
    return inner.map(([field]) => `...entry.${name}.map((item) => item.${field})`);
  });
}

/** What a kind of field is in JSON. */
const SHOWN_TYPES: Readonly<Record<Kind, string>> = {
  task: 'string',
  leaseId: 'string',
  sessionId: 'string',
  number: 'number',
  priority: 'number',
  instant: 'string',
  text: 'string',
  label: 'string',
  sha256: 'string',
  opaque: 'Json | null',
  boolean: 'boolean',
  'FencedWrite[]': 'readonly WrittenValue[]',
  'task[]': 'readonly string[]',
  'text[]': 'readonly string[]',
  'sessionId[]': 'readonly string[]',
  Intent: 'Intent',
  Verb: 'Verb',
  IntentType: 'IntentType',
  SessionState: 'SessionState',
  SessionReason: 'SessionReason',
  Overlap: 'Overlap',
  CatchUp: 'CatchUp',
  Skip: 'Skip',
};

/** The entries as the handle gives them, in camelCase. */
export function entryShapes(): string {
  const written = RECORD_DEFINITIONS.find(({ name }) => name === 'FencedWrite')!;
  return `// biome-ignore-all format: generated, one field a line
/**
 * Entries of the log as the handle gives them: instants are ISO 8601, opaque values a \`Json\`, or null when their bytes
 * were damaged on the disk. ${BY}
 */
import type { CatchUp, Overlap, SessionReason, SessionState, Skip, Verb } from '../core/entries.ts';
import type { Json } from './json.ts';

export interface Durable {
  /** Its position in the log. */
  readonly seq: number;
  readonly at: string;
}

/** A fenced write that came with a completion. */
export interface WrittenValue {
${shapeLines(written)}
}

/** What a session is to show: a live service, or a recording from some point on. */
export type Intent =
  | { readonly type: 'live'; readonly serviceRef: string; readonly profileId: string }
  | { readonly type: 'vod'; readonly recordingId: string; readonly profileId: string; readonly startMs?: number };

export interface EntryShapes {
${ENTRY_DEFINITIONS.map(
  (definition) =>
    `${definition.says === undefined ? '' : `  /** ${definition.says} */\n`}  readonly ${definition.name}: Durable & {\n    readonly type: '${definition.name}';\n${shapeLines(definition, '    ')}\n  };`,
).join('\n')}
}

/** An entry of one of these types. */
export type EntryOf<Type extends keyof EntryShapes> = EntryShapes[Type];

export type Entry = EntryOf<keyof EntryShapes>;
`;
}

function shapeLines({ fields }: Definition, indent = '  '): string {
  const lines: string[] = [];
  const groups = new Map<string, string[]>();
  for (const [field, row] of Object.entries(fields)) {
    if (!isShown(row)) continue;
    const [name, inner] = jsonNameOf(field, row).split('.') as [string, string?];
    if (inner === undefined) {
      lines.push(`${indent}readonly ${camelName(name)}${isAlways(row) ? '' : '?'}: ${shapeType(row)};`);
      continue;
    }
    if (!groups.has(name)) {
      groups.set(name, []);
      lines.push(name);
    }
    groups.get(name)!.push(`readonly ${camelName(inner)}: ${shapeType(row)}`);
  }
  return lines
    .map((line) =>
      groups.has(line) ? `${indent}readonly ${camelName(line)}: { ${groups.get(line)!.join('; ')} };` : line,
    )
    .join('\n');
}

/** The fields of an entry as the handle names them; those that may be absent with a question mark. */
export function handleNames({ fields }: Definition): string[] {
  const shown = Object.entries(fields).filter(([, row]) => isShown(row));
  const names = shown.map(([field, row]) => {
    const [name, inner] = jsonNameOf(field, row).split('.');
    return camelName(name!) + (isAlways(row) || inner !== undefined ? '' : '?');
  });
  return [...new Set(names)];
}

function isAlways(row: Field): boolean {
  return row.shown === 'always' || (row.shown === undefined && ('value' in row || !isNullable(row)));
}

function shapeType(row: Field): string {
  if ('value' in row) return row.type ?? (row.value === 'seq' ? 'number' : 'string');
  if (row.words !== undefined) return row.words.map((word) => `'${word}'`).join(' | ');
  return `${SHOWN_TYPES[row.kind as Kind]}${row.shown === 'always' && isNullable(row) ? ' | null' : ''}`;
}
