/**
 * Names are shown as they are, character by character: what a browser would hide or reorder (control characters, bidi marks,
 * zero-width and unusual spaces) appears as its code point instead.
 */
const ODD = /([\p{C}\p{Zl}\p{Zp}\u00a0\u2000-\u200f\u202f\u205f\u2060-\u206f\u3000\ufeff]|^ | $)/u;

/** The pieces of a text; every second one is a character that must be made visible. */
export function piecesOf(text: string): string[] {
  return text.split(new RegExp(ODD, 'gu'));
}

export function codePoint(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** A text in which nothing is hidden, for titles and sentences. */
export function visible(text: string): string {
  return piecesOf(text)
    .map((piece, index) => (index % 2 === 0 ? piece : `⟨${codePoint(piece)}⟩`))
    .join('');
}
