/** Refusals of many tasks, one line for each code: how many, and the first few of them as examples. */
import { visible } from './format.ts';

/** How many are named; thousands of equal lines would hide those that differ. */
export const EXAMPLES_MAX = 5;

interface Refused {
  readonly task_id: string;
  readonly code: string;
}

/** `TASK_NOT_ENDED: 3506 tasks, for example a, b, c, d, e`, the most frequent code first. */
export function refusalLines(refusals: readonly Refused[]): string[] {
  const idsByCode = new Map<string, string[]>();
  for (const { task_id, code } of refusals) {
    const ids = idsByCode.get(code);
    if (ids === undefined) idsByCode.set(code, [task_id]);
    else ids.push(task_id);
  }
  return [...idsByCode]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([code, ids]) => {
      const named = ids.slice(0, EXAMPLES_MAX).map(visible).join(', ');
      if (ids.length <= EXAMPLES_MAX) return `${code}: ${named}`;
      return `${code}: ${ids.length} tasks, for example ${named}`;
    });
}
