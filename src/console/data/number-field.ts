/** Parses a number field; an empty field is null. Throws on anything else, which JSON would silently turn into null. */
export function numberIn(text: string): number | null {
  const words = text.trim();
  if (words === '') return null;
  const number = Number(words);
  if (!Number.isFinite(number))
    throw new Error(`${words} is not a number; write it in digits, such as 1000.`);
  return number;
}
