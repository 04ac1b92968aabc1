/** Opaque JSON for reading: indented without being parsed, so that every number and every escape stays as it was written. */
const OPENING = '{[';
const CLOSING = '}]';

export function indented(text: string): string {
  let out = '';
  let depth = 0;
  let at = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
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
