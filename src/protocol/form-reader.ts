/**
 * Reads JSON whose form is known in advance: what is expected is compared, what differs is read, and no key is looked up.
 * Whoever finds something else than expected goes back to where it began and leaves that to the reader for all JSON, which
 * also knows what to say when it is wrong. So a form need only hold what comes often.
 */
import type { Json } from './json.ts';
import { closeJson, type Keep, openJson, passedTo, readJsonAt, readOpaqueAt } from './json-reader.ts';

/** A text that a form expects, as bytes. */
export function expected(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** For the texts of a form: 1 for every byte that may stand in one. */
export type Alphabet = Uint8Array;

/** What may stand in a string as it is and is ASCII, if it also passes the test. */
export function alphabetOf(isAllowed: (character: string) => boolean): Alphabet {
  return Uint8Array.from({ length: 256 }, (_, code) => {
    const character = String.fromCharCode(code);
    const isPlain = code >= 0x20 && code < 0x7f && JSON.stringify(character) === `"${character}"`;
    return isPlain && isAllowed(character) ? 1 : 0;
  });
}

/** Forms that may stand at one place. */
export class Forms {
  readonly readers: readonly (() => object | null)[];
  /** Which of them was the newest; neighbours are mostly of one kind. */
  newest = 0;

  constructor(...readers: readonly (() => object | null)[]) {
    this.readers = readers;
  }
}

/** The newest text at a place where the same one mostly comes again: comparing costs less than making it anew. */
export interface Newest {
  text: string;
  from: number;
}

const NOTHING: Uint8Array = new Uint8Array(0);
const QUOTE = 0x22;
const ZERO = 0x30;
/** More digits than a number holds exactly. */
const EXACT_DIGITS = 15;

const decoder = new TextDecoder();
/** Node cuts a short string out of bytes in a third of the time that a decoder takes. */
const cutAscii: ((this: Uint8Array, from: number, to: number) => string) | undefined = (
  globalThis as { Buffer?: typeof Buffer }
).Buffer?.prototype.latin1Slice;

/** One reader at a time: the opaque values are left to the reader for all JSON, which has only one set of bytes. */
export class FormReader {
  /** Where the next byte is read; set back by whoever found something unexpected. */
  at = 0;
  private source = NOTHING;

  open(source: Uint8Array): void {
    this.source = source;
    this.at = 0;
    openJson(source);
  }

  /** What was read is kept alive no longer. */
  close(): void {
    this.source = NOTHING;
    closeJson();
  }

  get isAtEnd(): boolean {
    return this.at === this.source.length;
  }

  /** Whether these bytes come next; then they are read. */
  skip(bytes: Uint8Array): boolean {
    const { source, at } = this;
    for (let index = 0; index < bytes.length; index++) if (source[at + index] !== bytes[index]) return false;
    this.at = at + bytes.length;
    return true;
  }

  /** Whether this byte comes next; then it is read. */
  skipByte(code: number): boolean {
    if (this.source[this.at] !== code) return false;
    this.at += 1;
    return true;
  }

  /** A text of this alphabet up to its closing quote, which is read too. */
  text(alphabet: Alphabet): string | null {
    const { source, at } = this;
    let end = at;
    while (alphabet[source[end]!] === 1) end += 1;
    if (source[end] !== QUOTE) return null;
    this.at = end + 1;
    return cutAscii === undefined ? decoder.decode(source.subarray(at, end)) : cutAscii.call(source, at, end);
  }

  /** The same where it is probably the newest one again. */
  textAgain(alphabet: Alphabet, newest: Newest): string | null {
    const { source, at } = this;
    const { text: known, from } = newest;
    let index = 0;
    while (index < known.length && source[at + index] === source[from + index]) index += 1;
    if (index > 0 && index === known.length && source[at + index] === QUOTE) {
      this.at = at + index + 1;
      return known;
    }
    const text = this.text(alphabet);
    newest.text = text ?? '';
    newest.from = at;
    return text;
  }

  /** A whole number from 0 on; null for any other, and for what is too large to be sure of. */
  number(): number | null {
    const { source, at } = this;
    let place = at;
    let value = 0;
    for (;;) {
      const digit = source[place]! - ZERO;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
      place += 1;
    }
    const digits = place - at;
    if (digits === 0 || digits > EXACT_DIGITS || (digits > 1 && source[at] === ZERO)) return null;
    this.at = place;
    return value;
  }

  /** What one of these forms makes of what stands there; null, with nothing read, when none of them fits. */
  oneOf(forms: Forms): object | null {
    const { at } = this;
    const { readers } = forms;
    for (let tries = 0; tries < readers.length; tries++) {
      const value = readers[forms.newest]!();
      if (value !== null) return value;
      this.at = at;
      forms.newest = (forms.newest + 1) % readers.length;
    }
    return null;
  }

  /** A value of the user's; throws a JsonError when it is none. */
  opaque(keep: Keep | null): Json {
    const value = readOpaqueAt(this.at, keep);
    this.at = passedTo();
    return value;
  }

  /** Whatever stands there, so deep inside of something; throws a JsonError when it is no JSON that we take. */
  any(depth: number, keep: Keep | null): unknown {
    const value = readJsonAt(this.at, depth, keep);
    this.at = passedTo();
    return value;
  }
}
