// The import lines of a generated file.

/** The imports of the names that a text uses, in the order in which the linter wants them. */
export function importsOf(body: string, from: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(from)
    .map(([path, names]) =>
      importOf(path, names.filter((name) => new RegExp(`\\b${bare(name)}\\b`).test(body)).sort(byName)),
    )
    .filter((line) => line !== '')
    .join('\n');
}

function importOf(path: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const onlyTypes = names.every((name) => name !== bare(name));
  const listed = onlyTypes ? names.map(bare) : names;
  const start = onlyTypes ? 'import type' : 'import';
  const line = `${start} { ${listed.join(', ')} } from '${path}';`;
  return line.length <= 110
    ? line
    : `${start} {\n${listed.map((name) => `  ${name},\n`).join('')}} from '${path}';`;
}

const bare = (name: string): string => name.replace('type ', '');

/** Letter by letter, a capital before the same small one. */
function byName(a: string, b: string): number {
  const [one, other] = [a, b].map((name) =>
    [...bare(name)]
      .map((letter) => letter.toLowerCase() + (letter === letter.toUpperCase() ? 0 : 1))
      .join(''),
  );
  return one! < other! ? -1 : 1;
}
