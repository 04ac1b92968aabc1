/** The words that the user may have meant: those that contain the input, and those a few typing errors away. */

/** One typing error is allowed for this many letters. */
const LETTERS_AN_ERROR = 4;
const NEAR_MAX = 3;

/** The nearest first. */
export function nearWords(written: string, words: readonly string[]): string[] {
  if (written === '') return [];
  const inside = words.filter((word) => word.includes(written) || written.includes(word));
  if (inside.length > 0) return inside.slice(0, NEAR_MAX);
  return words
    .map((word) => ({ word, errors: errorsBetween(written, word) }))
    .filter(({ errors }) => errors <= written.length / LETTERS_AN_ERROR)
    .sort((a, b) => a.errors - b.errors)
    .slice(0, NEAR_MAX)
    .map(({ word }) => word);
}

/** How many letters must be added, left out or replaced (Levenshtein), row by row of its table. */
function errorsBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...one].entries()) {
    const next = [row + 1];
    for (let column = 1; column <= other.length; column++) {
      const replaced = above[column - 1]! + (letter === other[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, above[column]! + 1, next[column - 1]! + 1));
    }
    above = next;
  }
  return above[other.length]!;
}
