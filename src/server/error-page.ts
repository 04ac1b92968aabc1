/** `/errors/CODE`: what a refusal means, for the person who follows the `type` of a problem. */
import { REFUSALS, type RefusalCode, type RefusalKind } from '../core/refusals.ts';
import { EXPLANATIONS } from '../protocol/explanations.ts';
import { htmlPage, proseHtml, tableHtml } from './html.ts';

const RETRY: Readonly<Record<RefusalKind['retry'], string>> = {
  never: 'Never: the call itself is wrong, or the chance is gone.',
  later: 'Later: another caller is in the way.',
  soon: 'Soon: the server is in the way.',
};

/** Null when there is no such code. */
export function errorPage(code: string): string | null {
  if (!Object.hasOwn(REFUSALS, code)) return null;
  const { says, status, retry } = REFUSALS[code as RefusalCode];
  const { when, todo } = EXPLANATIONS[code as RefusalCode];
  return htmlPage(
    `${code} · leasehold`,
    `<h1>${code}</h1>
<p>${proseHtml(says)}</p>
<h2>When</h2>
<p>${proseHtml(when)}</p>
<h2>What to do</h2>
<p>${proseHtml(todo)}</p>
<h2>For programs</h2>
${tableHtml([
  ['Status', String(status)],
  ['Can the same call succeed?', RETRY[retry]],
])}
<p class="soft"><a href="../">This server</a> · <a href="../openapi.json">Every operation and its refusals</a></p>`,
  );
}
