// The codes in `docs/errors.md`: one section each, from the table of refusals and the texts of `/errors/CODE`.
import { REFUSALS, type RefusalCode } from '../../src/core/refusals.ts';
import { EXPLANATIONS, type Explanation } from '../../src/protocol/explanations.ts';

const BEGIN =
  '<!-- codes: generated from src/core/refusals.ts and src/protocol/explanations.ts by `npm run generate` -->';
const END = '<!-- end of the codes -->';

/** The page with its codes as they are defined now; everything around them is written by hand. */
export function errorsPage(now: string): string {
  const [head, rest] = now.split(BEGIN) as [string, string];
  const codes = Object.keys(REFUSALS) as RefusalCode[];
  return `${head}${BEGIN}\n\n${codes.map(sectionOf).join('\n\n')}\n\n${rest.slice(rest.indexOf(END))}`;
}

function sectionOf(code: RefusalCode): string {
  const { says, status, retry } = REFUSALS[code];
  const { when, todo, see }: Explanation = EXPLANATIONS[code];
  return [
    `## ${code}`,
    `> ${says} (status ${status}, retry: ${retry})`,
    `**When.** ${when}`,
    `**What to do.** ${todo}`,
    ...(see === undefined ? [] : [`See [${see.title}](${see.page}).`]),
  ].join('\n\n');
}
