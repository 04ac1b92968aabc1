/**
 * A JSON text that is passed on unparsed: payloads, results, values and metadata keep the text that came in. `parse` returns
 * the value, `text` the text, `bytes` its UTF-8; `JSON.stringify` of an object that contains one shows the value.
 */
const encoder = new TextEncoder();
/** Fatal: bytes that are not UTF-8 are not JSON, and must not be decoded to another text. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const laxDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
/** For bytes that are known to be UTF-8: Node decodes short texts in a fifth of the time of a TextDecoder. */
const utf8Slice = (globalThis as { Buffer?: { prototype: { utf8Slice: Slice } } }).Buffer?.prototype
  .utf8Slice;
type Slice = (this: Uint8Array, from: number, to: number) => string;

export function textOfUtf8(bytes: Uint8Array, from = 0, to = bytes.length): string {
  return utf8Slice ? utf8Slice.call(bytes, from, to) : laxDecoder.decode(bytes.subarray(from, to));
}

export class Json {
  /** Text or bytes, as given to the constructor; the other form is computed on demand. */
  private readonly source: string | Uint8Array;
  /** What is known about it: nothing, that it is JSON, or also that its nesting is within the limit. */
  #known: 'nothing' | 'json' | 'shallow' = 'nothing';

  /** Takes text or bytes that are known to be JSON. Use `Json.of` for a value and `Json.text` for a text. */
  constructor(source: string | Uint8Array) {
    if (typeof source !== 'string' && !(source instanceof Uint8Array)) {
      throw new TypeError('Json is made from text or bytes; use Json.of for a value.');
    }
    this.source = source;
  }

  static of(value: unknown): Json {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError('The value has no JSON form.');
    return Json.knownAs('json', text);
  }

  /** Checks that the text is JSON and keeps it as it is. */
  static text(text: string): Json {
    JSON.parse(text);
    return Json.knownAs('json', text);
  }

  /** For the reader, which has checked the depth already. */
  static shallow(source: string | Uint8Array): Json {
    return Json.knownAs('shallow', source);
  }

  private static knownAs(known: 'json' | 'shallow', source: string | Uint8Array): Json {
    const json = new Json(source);
    json.#known = known;
    return json;
  }

  get isShallow(): boolean {
    return this.#known === 'shallow';
  }

  /** Whether it was checked to be JSON; the constructor trusts its caller. */
  get isChecked(): boolean {
    return this.#known !== 'nothing';
  }

  /** Whether it is kept as text; then `text` is cheaper than `bytes`. */
  get isText(): boolean {
    return typeof this.source === 'string';
  }

  get bytes(): Uint8Array {
    return typeof this.source === 'string' ? encoder.encode(this.source) : this.source;
  }

  text(): string {
    if (typeof this.source === 'string') return this.source;
    return this.isChecked ? textOfUtf8(this.source) : decoder.decode(this.source);
  }

  parse(): unknown {
    return JSON.parse(this.text());
  }

  toJSON(): unknown {
    if (isTextWanted) return this.text();
    if (written === null) return this.parse();
    written.push(this);
    return placeholder;
  }
}

/** While `textWithin` writes. */
let isTextWanted = false;

/** Like JSON.stringify, but every `Json` inside appears as a string that holds its text. */
export function textWithin(value: object): string {
  isTextWanted = true;
  try {
    return JSON.stringify(value);
  } finally {
    isTextWanted = false;
  }
}

/** While `wireText` writes: the `Json` values found, and the number written for each. */
let written: Json[] | null = null;
let placeholder = 0;

/**
 * Like `jsonText`, in one call of JSON.stringify, for values of our own: nothing inside may have a `toJSON` except `Json`.
 * A number that occurs nowhere else in the text is written for each `Json`, and then replaced by its text.
 */
export function wireText(value: object): string {
  for (let number = Number.MAX_VALUE; ; number /= 2) {
    const found: Json[] = [];
    written = found;
    placeholder = number;
    let text: string;
    try {
      text = JSON.stringify(value);
    } finally {
      written = null;
    }
    if (found.length === 0) return text;
    const pieces = text.split(String(number));
    // A string may hold the same digits; it does not hold all numbers.
    if (pieces.length !== found.length + 1) continue;
    text = pieces[0]!;
    for (let index = 0; index < found.length; index++) text += found[index]!.text() + pieces[index + 1]!;
    return text;
  }
}

/** Like JSON.stringify, but every `Json` inside appears as its own text, byte for byte. */
export function jsonText(value: unknown): string {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (value instanceof Json) return value.text();
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (!holdsJson(value)) return JSON.stringify(value);
  let text = '';
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    if (field !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${jsonText(field)}`;
  }
  return `${text}}`;
}

/** A line break in JSON is always white space between tokens, never part of a value; in NDJSON it would end the line. */
export function onOneLine(text: string): string {
  return text.includes('\n') || text.includes('\r') ? text.replaceAll(/[\r\n]/g, ' ') : text;
}

/** Whether it contains a `Json`; without one JSON.stringify gives the same text and is faster. */
function holdsJson(value: object): boolean {
  for (const field of Object.values(value)) {
    if (typeof field !== 'object' || field === null) continue;
    if (field instanceof Json || holdsJson(field)) return true;
  }
  return false;
}
