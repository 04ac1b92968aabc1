// The types of image records, and the columns in which tables keep what these say.
import { type Column, ROW_WORDS, ROWS, type RowDefinition } from '../../src/core/row-table.ts';
import {
  type Definition,
  IMAGE_DEFINITIONS,
  isNullable,
  isOpaque,
  lowerFirst,
  RECORD_DEFINITIONS,
  storedOf,
} from './definitions.ts';
import { interfaceOf } from './entry-types.ts';
import { importsOf } from './imports.ts';
import { KINDS, listOf } from './kinds.ts';

const BY = 'Generated from `src/core/row-table.ts` by `npm run generate`; a test compares.';

export function imageTypes(): string {
  const words = Object.entries(ROW_WORDS).map(
    ([name, { list, ...rest }]) =>
      `export const ${listOf(name)} = [${list.map((word) => `'${word}'`).join(', ')}] as const;\n${'says' in rest ? `/** ${rest.says} */\n` : ''}export type ${name} = (typeof ${listOf(name)})[number];`,
  );
  const records = IMAGE_DEFINITIONS.filter(({ tag }) => tag !== null).map(({ name }) => name);
  const body = `${words.join('\n\n')}

${IMAGE_DEFINITIONS.map(interfaceOf).join('\n\n')}

export type ImageRecord = ${records.join(' | ')};
`;
  const imports = importsOf(body, {
    './entries.ts': [
      'type CatchUp',
      'type Intent',
      'type Overlap',
      'type SessionReason',
      'type SessionState',
      'type TaskKey',
    ],
    './opaque.ts': ['type Opaque'],
    './row-types.ts': ['type Seq'],
  });
  return `// biome-ignore-all format: generated, one field a line
/**
 * The state as a list of records: what a checkpoint stores and what the state hash is taken over.
 * Reading the records of a state back into an empty one gives a state that answers every question
 * alike. Row numbers are part of it, because the cursors of lists are row numbers. ${BY}
 */
${imports}

${body}`;
}

export function rowObjects(): string {
  const body = `${objectParts('SessionImage')}\n\n${objectParts('ScheduleImage')}\n`;
  const imports = importsOf(body, {
    './entries.ts': [
      'type CatchUp',
      'type Intent',
      'type Overlap',
      'type SessionReason',
      'type SessionState',
    ],
    './image.ts': ['type ScheduleImage', 'type SessionImage'],
    './opaque.ts': ['type Opaque'],
    './row-types.ts': ['type Seq'],
  });
  return `// biome-ignore-all format: generated, one field a line
/** What sessions and schedules remember, as objects: there are few of them. ${BY} */
${imports}

${body}`;
}

/** A row of numbers, or of references to what is kept elsewhere. */
interface Table {
  /** `Task`, of `TaskImage`. */
  readonly name: string;
  readonly row: string;
  readonly creation: string;
  readonly columns: readonly (readonly [name: string, column: Column])[];
  readonly fields: readonly (readonly [name: string, column: Column])[];
}

const DEFINITIONS = Object.entries(ROWS) as [name: string, definition: RowDefinition][];

const TABLES: readonly Table[] = DEFINITIONS.flatMap(([image, { creation, fields }]) => {
  if (creation === undefined) return [];
  const name = image.replace('Image', '');
  const stored = storedOf(fields);
  return [
    {
      name,
      row: `${name}Row`,
      creation,
      columns: stored.filter(([, { kept }]) => kept === undefined),
      fields: stored.filter(([, { partOf }]) => partOf === undefined),
    },
  ];
});

export function rowColumns(): string {
  const body = `${TABLES.map(columnsClass).join('\n\n')}

${opaquesFunction(IMAGE_DEFINITIONS.find(({ name }) => name === 'TaskImage')!)}
`;
  const imports = importsOf(body, {
    './entries.ts': ['type TaskCreated', 'type TaskKey'],
    './image.ts': [...Object.keys(ROW_WORDS), ...IMAGE_DEFINITIONS.map(({ name }) => name)].map(
      (name) => `type ${name}`,
    ),
    './opaque.ts': ['type Opaque'],
    './row-types.ts': ['type LeaseRow', 'type NameRow', 'type Seq', 'type TaskRow'],
    './tables/columns.ts': ['Float64Column', 'Uint32Column'],
    './tables/opaque-column.ts': ['type Move', 'OpaqueColumn'],
    './tables/rows.ts': ['type Reservable'],
    './tables/side-rows.ts': ['SideRows', 'SparseColumn'],
    './tables/text-column.ts': ['type StringSlab', 'TextColumn'],
  });
  return `// biome-ignore-all format: generated, one column a line
/**
 * What tasks, leases and names remember, as the tables keep it. The tables extend these classes, and add indexes
 * and what needs a form of its own. What the columns mean is said in \`image.ts\`. ${BY}
 */
${imports}

${body}`;
}

function columnsClass(table: Table): string {
  const { name, row, columns, fields } = table;
  const sparse = columns.filter(([, column]) => column.sparse);
  const needsStrings = columns.filter(([, column]) => isText(column));
  const own = columns.filter(([, column]) => !needsStrings.some(([, other]) => other === column));
  const declared = [
    ...(sparse.length === 0 ? [] : [`readonly sparse = new SideRows<${row}>();`]),
    ...own.map(([column, kind]) => `readonly ${column} = ${newColumn(row, kind)};`),
    ...needsStrings.map(([column, kind]) => `readonly ${column}: ${columnType(row, kind)};`),
    'protected readonly columns: readonly Reservable[];',
  ];
  const reserved = [
    ...(sparse.length === 0 ? [] : ['sparse']),
    ...columns.filter(([, column]) => !column.sparse).map(([column]) => column),
  ];
  const kept = fields.filter(([, column]) => column.kept !== undefined && column.kept !== 'row');
  const restored = columns.filter(([, column]) => column.partOf === undefined);
  const opaque = columns.filter(([, column]) => isOpaque(column));
  return `export abstract class ${name}Columns {
${declared.map((line) => `  ${line}`).join('\n')}

  constructor(strings: StringSlab) {
${needsStrings.map(([column, kind]) => `    this.${column} = ${newColumn(row, kind)};`).join('\n')}
    this.columns = [${reserved.map((column) => `this.${column}`).join(', ')}];
  }

${kept.map(([, column]) => `  abstract ${column.kept}(row: ${row}): ${typeOf(column)};`).join('\n')}

  /** The first values of a new row. */
  protected start(row: ${row}, ${table.creation}): void {
${columns.flatMap(([column, kind]) => firstValue(column, kind)).join('\n')}
  }

  image(row: ${row}): ${name}Image {
    return {
${fields[0]![0] === 'row' ? `      kind: '${lowerFirst(name)}',\n` : ''}${fields.map(([field, column]) => `      ${imagePart(field, column)},`).join('\n')}
    };
  }

  /** Everything but what the table keeps in a form of its own. */
  protected restoreColumns(row: ${row}, image: ${name}Image): void {
${restored.map(([column]) => `    this.${column}.set(row, image.${column});`).join('\n')}
  }

  /** Frees what the columns keep elsewhere, before the row itself is freed. */
  protected clear(row: ${row}): void {
${[
  ...needsStrings
    .filter(([, { sparse: isSparse }]) => !isSparse)
    .map(([column]) => `    this.${column}.set(row, null);`),
  ...(sparse.length === 0 ? [] : ['    this.sparse.free(row);']),
].join('\n')}
  }

  relocate(row: ${row}, move: Move): void {
${opaque.map(([column, { sparse: isSparse }]) => (isSparse ? `    this.${column}.inner.relocate(this.sparse.of(row), move);` : `    this.${column}.relocate(row, move);`)).join('\n')}
  }

  /** How many strings the row keeps. */
  textCount(row: ${row}): number {
    return ${needsStrings.map(([column]) => `(this.${column}.get(row) === null ? 0 : 1)`).join(' + ')};
  }
}`;
}

const isText = ({ kind }: Column): boolean => kind === 'text' || kind === 'label';

/** What a column holds for a row that was never set. */
const nothingOf = (column: Column): string => (isText(column) || isOpaque(column) ? 'null' : '0');

/** A new row has no side row yet, so its sparse columns hold nothing. */
function firstValue(column: string, kind: Column): string[] {
  const { sparse, starts = nothingOf(kind) } = kind;
  const set = `this.${column}.set(row, ${starts});`;
  if (!sparse) return [`    ${set}`];
  return starts === nothingOf(kind) ? [] : [`    if (${starts} !== ${nothingOf(kind)}) ${set}`];
}

const COLUMN_CLASSES: Readonly<Partial<Record<Column['kind'], string>>> = {
  seq: 'Float64Column',
  number: 'Float64Column',
  count: 'Uint32Column',
  text: 'TextColumn',
  label: 'TextColumn',
  opaque: 'OpaqueColumn',
};

function columnClass(row: string, { kind }: Column): string {
  const name = COLUMN_CLASSES[kind];
  if (name === undefined)
    throw new Error(`There is no column of kind ${kind}; a table may keep it by itself.`);
  return `${name}<${row}${kind === 'seq' ? ', Seq' : ''}>`;
}

function columnType(row: string, column: Column): string {
  if (!column.sparse) return columnClass(row, column);
  return `SparseColumn<${row}, ${valueType(column)}, ${columnClass('number', column)}>`;
}

function newColumn(row: string, column: Column): string {
  const parameters = isText(column) ? 'strings' : '';
  if (!column.sparse) return `new ${columnClass(row, column)}(${parameters})`;
  return `new ${columnType(row, column)}(this.sparse, new ${columnClass('number', column)}(${parameters}), ${nothingOf(column)})`;
}

const valueType = (column: Column): string =>
  `${KINDS[column.kind].type}${isText(column) || isOpaque(column) ? ' | null' : ''}`;

const typeOf = (column: Column): string => `${KINDS[column.kind].type}${isNullable(column) ? ' | null' : ''}`;

function imagePart(field: string, column: Column): string {
  if (column.kept === 'row') return 'row';
  if (column.kept !== undefined) return `${field}: this.${column.kept}(row)`;
  const isAlwaysThere = valueType(column) !== typeOf(column);
  const fallback = !isAlwaysThere ? '' : column.without === undefined ? '!' : ` ?? ${column.without}`;
  return `${field}: this.${field}.get(row)${fallback}`;
}

/** What there are few of is an object. It is copied in the order of the image, which the state hash depends on. */
function objectParts(image: 'SessionImage' | 'ScheduleImage'): string {
  const type = image.replace('Image', '');
  const subject = lowerFirst(type);
  const columns = storedOf((ROWS[image] as RowDefinition).fields);
  const intent = storedOf(RECORD_DEFINITIONS.find(({ name }) => name === 'Intent')!.fields);
  const copied = columns.map(([name, { kind }]) =>
    kind === 'Intent'
      ? `${name}: { ${intent.map(([part]) => `${part}: ${subject}.${name}.${part}`).join(', ')} }`
      : `${name}: ${subject}.${name}`,
  );
  return `export interface ${type} {
${columns.map(([name, column]) => `  ${column.changes ? '' : 'readonly '}${name}: ${typeOf(column)};`).join('\n')}
}

/** In the order of the image, which the state hash depends on. */
export function ${subject}Image(${subject}: ${type}): ${image} {
  return {
    kind: '${subject}',
${copied.map((line) => `    ${line},`).join('\n')}
  };
}

export function ${subject}Of(image: ${image}): ${type} {
  return {
${columns.map(([name]) => `    ${name}: image.${name},`).join('\n')}
  };
}`;
}

/** Opaque fields of a record, those of the lists in it included. */
function opaquesFunction({ name, subject, fields }: Definition): string {
  const parts = storedOf(fields).flatMap(([field, row]) => {
    if (isOpaque(row)) return [`${subject}.${field}`];
    const record = IMAGE_DEFINITIONS.find((inner) => row.kind.replace('[]', '') === inner.name);
    const inner =
      record === undefined ? [] : storedOf(record.fields).filter(([, column]) => isOpaque(column));
    return inner.map(([column]) => `...${subject}.${field}.map((item) => item.${column})`);
  });
  return `/** Which opaque bytes the record of a ${subject} refers to. */
export function ${subject}Opaques(${subject}: ${name}): (Opaque | null)[] {
  return [${parts.join(', ')}];
}`;
}
