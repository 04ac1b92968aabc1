// The checkers of the simulator in `docs/testing.md`, as `npm run sim -- --list` prints them.
import { CHECKERS } from '../simulation/checkers/all.ts';

const BEGIN = '<!-- checkers: generated from test/simulation/checkers by `npm run generate` -->';
const END = '<!-- end of the checkers -->';

/** The page with the checkers of now; everything around them is written by hand. */
export function checkersTable(now: string): string {
  const [head, rest] = now.split(BEGIN) as [string, string];
  const rows = CHECKERS.map(({ name, promises }) => `| \`${name}\` | ${promises} |`);
  const table = ['| checker | in every history |', '|---|---|', ...rows].join('\n');
  return `${head}${BEGIN}\n\n${table}\n\n${rest.slice(rest.indexOf(END))}`;
}
