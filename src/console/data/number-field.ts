/** What a reader types into a field for a number; an empty field is null. JSON would turn anything else into null silently. */
export function numberIn(text: string): number | null {
  const words = text.trim();
  if (words === '') return null;
  const number = Number(words);
  if (!Number.isFinite(number))
    throw new Error(`${words} is not a number; write it in digits, such as 1000.`);
  return number;
}
