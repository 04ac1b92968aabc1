/**
 * The output of a program under `leasehold work`: its result, and the end of its standard error. Both are bounded,
 * because a program may print without end.
 */
import { Json } from '../protocol/json.ts';
import { LIMITS } from '../protocol/limits.ts';

/** Standard output as the result of a task. */
export class ResultText {
  private pieces: Uint8Array[] = [];
  private bytes = 0;

  add(bytes: Uint8Array): void {
    this.bytes += bytes.length;
    // The text may grow when it becomes a JSON string; the authority checks a result near the limit.
    if (this.bytes <= LIMITS.opaqueBytes * 2) this.pieces.push(bytes);
    else this.pieces = [];
  }

  /** JSON unchanged, other text as a string without its last line break, no output as no result. */
  json(): Json | undefined {
    if (this.bytes > LIMITS.opaqueBytes * 2) {
      throw new Error(`The program printed ${this.bytes} bytes; a result may have ${LIMITS.opaqueBytes}.`);
    }
    const text = Buffer.concat(this.pieces).toString('utf8');
    const trimmed = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
    if (trimmed === '') return undefined;
    const json = jsonIn(trimmed) ?? Json.of(text.replace(/\r?\n$/, ''));
    if (json.bytes.length > LIMITS.opaqueBytes) {
      throw new Error(`The result has ${json.bytes.length} bytes; ${LIMITS.opaqueBytes} are allowed.`);
    }
    return json;
  }
}

function jsonIn(text: string): Json | null {
  try {
    return Json.text(text);
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}

/** The end of standard error, as a reason that the authority accepts. */
export class OutputTail {
  private kept = Buffer.alloc(0);
  private isCut = false;

  add(bytes: Uint8Array): void {
    const all = Buffer.concat([this.kept, bytes]);
    if (all.length > LIMITS.reasonBytes) this.isCut = true;
    this.kept = Buffer.from(all.subarray(Math.max(0, all.length - LIMITS.reasonBytes)));
  }

  /** Printable characters, line breaks and tabs; the beginning is cut. */
  text(): string {
    // A reason holds no colours and no other terminal sequences.
    const text = this.kept
      .toString('utf8')
      .replace(ESCAPES, '')
      .replace(/\r\n?/g, '\n')
      .replace(UNPRINTABLE, '\ufffd')
      .trim();
    return this.isCut || Buffer.byteLength(text) > LIMITS.reasonBytes ? lastBytes(text) : text;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences that are taken out.
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cs}]/gu;

/** As many whole characters of the end as fit after the mark of the cut. */
function lastBytes(text: string): string {
  const mark = '…';
  const bytes = Buffer.from(text);
  let from = Math.max(0, bytes.length - (LIMITS.reasonBytes - Buffer.byteLength(mark)));
  while (from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from += 1;
  // The cut may already lie in the middle of a character that became replacement characters.
  return (
    mark +
    bytes
      .subarray(from)
      .toString('utf8')
      .replace(/^\ufffd+/, '')
  );
}
