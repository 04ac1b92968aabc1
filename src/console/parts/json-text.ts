/** Indents opaque JSON without parsing it, so that every number and escape stays as written. */
const OPENING = '{[';
const CLOSING = '}]';

/** Deeper levels are not indented further, or the text would grow with the square of the depth. */
const INDENTED_MAX = 40;

export function indented(text: string): string {
  let out = '';
  let depth = 0;
  let at = 0;
  const line = (): string => `\n${'  '.repeat(Math.min(depth, INDENTED_MAX))}`;
  while (at < text.length) {
    const character = text[at]!;
    if (character === '"') {
      const end = endOfString(text, at);
      out += text.slice(at, end);
      at = end;
      continue;
    }
    if (OPENING.includes(character)) {
      const next = nextOf(text, at + 1);
      if (CLOSING.includes(text[next] ?? ' ')) {
        out += character + text[next];
        at = next + 1;
        continue;
      }
      depth += 1;
      out += character + line();
    } else if (CLOSING.includes(character)) {
      depth -= 1;
      out += line() + character;
    } else if (character === ',') out += character + line();
    else if (character === ':') out += ': ';
    else if (!/\s/.test(character)) out += character;
    at += 1;
  }
  return out;
}

/** The text of a field of an object, as written; null when the object lacks it. `text` must be valid JSON. */
export function fieldText(text: string, field: string): string | null {
  let depth = 0;
  for (let at = 0; at < text.length; ) {
    const character = text[at]!;
    if (character === '"') {
      const end = endOfString(text, at);
      const colon = nextOf(text, end);
      if (depth === 1 && text[colon] === ':' && JSON.parse(text.slice(at, end)) === field) {
        const from = nextOf(text, colon + 1);
        return text.slice(from, endOfValue(text, from)).trimEnd();
      }
      at = end;
      continue;
    }
    if (OPENING.includes(character)) depth += 1;
    else if (CLOSING.includes(character)) depth -= 1;
    at += 1;
  }
  return null;
}

/** The end of the value that starts here: before the comma or bracket that follows it. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const character = text[at]!;
    if (character === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (depth === 0 && (character === ',' || CLOSING.includes(character))) return at;
    if (OPENING.includes(character)) depth += 1;
    else if (CLOSING.includes(character)) depth -= 1;
    at += 1;
  }
  return text.length;
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function nextOf(text: string, from: number): number {
  let at = from;
  while (/\s/.test(text[at] ?? 'x')) at += 1;
  return at;
}
