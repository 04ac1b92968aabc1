// What each kind of field is in types, bytes and JSON, as the text of generated code.
import { type Kind, WORDS } from '../../src/core/entry-table.ts';
import { ROW_WORDS, type RowKind } from '../../src/core/row-table.ts';

interface KindText {
  readonly type: string;
  /** Bytes, if they are always as many. */
  readonly size?: number;
  /** How the length of a list is stored, if not as a u32. */
  readonly count?: 'u8';
  readonly layout: string;
  readonly write: (value: string) => string;
  /** Of a list with COUNT, the number of its items. */
  readonly read: string;
  readonly show: (value: string) => string;
}

const plain = (value: string) => value;
const f64 = {
  type: 'number',
  size: 8,
  layout: 'f64',
  write: (value: string) => `out.f64(${value})`,
  read: 'source.f64()',
};
const text = { type: 'string', layout: '', write: (value: string) => `out.string(${value})`, show: plain };

/** A list is written behind its length, which stands in the layout by itself. */
const list = (item: string, items: string, layout: string, show: (value: string) => string): KindText => ({
  type: `readonly ${item}[]`,
  layout,
  write: (value) => `encode${items}(out, ${value})`,
  read: `decode${items}(source, COUNT)`,
  show,
});

const words = (name: string, what: string): KindText => ({
  type: name,
  size: 1,
  layout: 'u8',
  write: (value) => `out.u8(${listOf(name)}.indexOf(${value}))`,
  read: `known(${listOf(name)}, source.u8(), '${what}')`,
  show: plain,
});

const ENTRY_KINDS: Omit<Record<Kind, KindText>, keyof typeof WORDS> = {
  task: {
    type: 'TaskKey',
    size: 8,
    layout: '',
    write: (value) => `encodeKey(out, ${value})`,
    read: 'decodeKey(source, flags)',
    show: (value) => `taskIdOfKey(${value})`,
  },
  leaseId: { ...f64, show: (value) => `leaseIdOfSeq(${value})` },
  sessionId: { ...f64, show: (value) => `sessionIdOfSeq(${value})` },
  number: { ...f64, show: plain },
  instant: { ...f64, show: (value) => `instant(${value})` },
  priority: {
    type: 'number',
    size: 1,
    layout: 'i8',
    write: (value) => `out.i8(${value})`,
    read: 'source.i8()',
    show: plain,
  },
  text: { ...text, read: 'source.string()' },
  label: { ...text, read: 'source.cachedString()' },
  sha256: {
    type: 'string',
    layout: 'as u8 length and bytes',
    write: (value) => `out.binary(${value})`,
    read: 'source.binary()',
    show: (value) => `hex(${value})`,
  },
  opaque: {
    type: 'Opaque',
    size: 12,
    layout: 'opaque',
    write: (value) => `encodeOpaque(out, area, ${value})`,
    read: 'opaques.opaque()',
    show: (value) => `open(${value})`,
  },
  boolean: { type: 'boolean', size: 0, layout: '', write: () => '', read: '', show: plain },
  'task[]': list('TaskKey', 'Keys', '', (value) => `${value}.map(taskIdOfKey)`),
  'text[]': list('string', 'Texts', '', plain),
  'sessionId[]': list('number', 'Numbers', 'f64 each', (value) => `${value}.map(sessionIdOfSeq)`),
  'FencedWrite[]': {
    type: 'readonly FencedWrite[]',
    layout: '`FencedWrite` each',
    write: (value) => `encodeFencedWrites(out, area, ${value})`,
    read: 'decodeFencedWrites(source, opaques, COUNT)',
    show: (value) => `${value}.map((write) => fencedWriteToJson(write, open))`,
  },
  Intent: {
    type: 'Intent',
    layout: '',
    write: (value) => `encodeIntent(out, ${value})`,
    read: 'decodeIntent(source)',
    show: (value) => `intentToJson(${value})`,
  },
};

/** What only rows have. JSON shows no row, so that `show` is not asked. */
const ROW_KINDS: Omit<Record<RowKind, KindText>, Kind | keyof typeof ROW_WORDS> = {
  seq: { ...f64, type: 'Seq', show: plain },
  count: { ...f64, show: plain },
  'number[]': list('number', 'Numbers', 'f64 each', plain),
  'token[]': { ...list('string', 'Tokens', 'as u8 length and bytes each', plain), count: 'u8' },
  ObjectImage: {
    type: 'ObjectImage',
    layout: '',
    write: (value) => `encodeObjectImage(out, area, ${value})`,
    read: 'decodeObjectImage(source, opaques)',
    show: plain,
  },
  'LeaseImage[]': {
    type: 'readonly LeaseImage[]',
    layout: '`LeaseImage` each',
    write: (value) => `encodeLeaseImages(out, area, ${value})`,
    read: 'decodeLeaseImages(source, opaques, COUNT)',
    show: plain,
  },
};

export const ALL_WORDS = { ...WORDS, ...ROW_WORDS };

export const KINDS = {
  ...ENTRY_KINDS,
  ...ROW_KINDS,
  ...Object.fromEntries(Object.entries(ALL_WORDS).map(([name, { what }]) => [name, words(name, what)])),
} as Readonly<Record<RowKind, KindText>>;

/** `SessionState` is a word of `SESSION_STATES`. */
export function listOf(name: string): string {
  return `${constantCase(name)}S`;
}

export function constantCase(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
