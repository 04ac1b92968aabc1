/**
 * A JSON text that nobody has to parse: payloads, results, values and metadata travel as the bytes that
 * came in. `parse` gives the value, `text` the text; `JSON.stringify` of something that contains one shows
 * the value.
 */
export class Json {
  readonly bytes: Uint8Array;

  /** Takes bytes that are known to be JSON. Use `Json.of` for a value and `Json.text` for a text. */
  constructor(bytes: Uint8Array) {
    if (!(bytes instanceof Uint8Array))
      throw new TypeError('Json is made from bytes; use Json.of or Json.text.');
    this.bytes = bytes;
  }

  static of(value: unknown): Json {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError('The value has no JSON form.');
    return new Json(Buffer.from(text));
  }

  /** Checks that the text is JSON and keeps it as it is. */
  static text(text: string): Json {
    JSON.parse(text);
    return new Json(Buffer.from(text));
  }

  text(): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength).toString();
  }

  parse(): unknown {
    return JSON.parse(this.text());
  }

  toJSON(): unknown {
    return this.parse();
  }
}

/** Like JSON.stringify, but every `Json` inside appears as its own text, byte for byte. */
export function jsonText(value: unknown): string {
  if (value instanceof Json) return value.text();
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${jsonText(field)}`).join(',')}}`;
}
