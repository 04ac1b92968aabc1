/**
 * The search for tasks: `queue:mail state:dead key:acme reason:timeout older:1h`. Qualifiers become the server's
 * filter; a word without one is a task id. For an invalid query the page shows a message and sends nothing.
 */
export interface TaskQuery {
  readonly filter: TaskQueryFilter;
  readonly order: 'oldest' | 'newest';
  /** A word that may be the id of a task. */
  readonly taskId: string | null;
  /** What is wrong with the query; null when it is valid. */
  readonly wrong: string | null;
}

export interface TaskQueryFilter {
  readonly queue?: string;
  readonly state?: TaskState;
  readonly key?: string;
  readonly worker_id?: string;
  readonly reason?: string;
  readonly created_before?: string;
  readonly created_after?: string;
}

type TaskState = 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD';
const STATES: readonly string[] = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'];

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const QUALIFIERS = ['queue', 'state', 'key', 'worker', 'reason', 'older', 'newer', 'order'] as const;

/** Splits into words; quoted text is one word. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [word] of text.matchAll(/(?:[^\s"]|"(?:\\.|[^"\\])*"?)+/g)) words.push(word);
  return words;
}

function unquoted(value: string): string {
  return value.replaceAll(/"((?:\\.|[^"\\])*)"?/g, (_, inner: string) => inner.replaceAll(/\\(.)/g, '$1'));
}

/** A value for a qualifier, quoted if needed; `parseTaskQuery` reads it back. */
export function quotedWord(text: string): string {
  return /[\s"]/.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : text;
}

export function parseTaskQuery(text: string, nowMs: number): TaskQuery {
  const filter: Record<string, string> = {};
  let order: TaskQuery['order'] = 'newest';
  let taskId: string | null = null;
  let wrong: string | null = null;
  const complain = (says: string): void => {
    wrong ??= says;
  };
  for (const word of wordsOf(text)) {
    const [, qualifier, rest] = /^(\w+):(.*)$/s.exec(word) ?? [];
    if (qualifier === undefined || !(QUALIFIERS as readonly string[]).includes(qualifier)) {
      if (taskId !== null)
        complain(`Only one id can be looked for, and there are two: ${taskId} and ${unquoted(word)}.`);
      taskId = unquoted(word);
      continue;
    }
    const value = unquoted(rest ?? '');
    if (value === '') complain(`${qualifier}: needs a value.`);
    else if (qualifier === 'state') {
      const state = value.toUpperCase();
      if (STATES.includes(state)) filter.state = state;
      else complain(`state: is one of ${STATES.join(', ').toLowerCase()}.`);
    } else if (qualifier === 'order') {
      if (value === 'oldest' || value === 'newest') order = value;
      else complain('order: is oldest or newest.');
    } else if (qualifier === 'older' || qualifier === 'newer') {
      const [, number, unit = ''] = /^(\d+)([smhd])$/.exec(value) ?? [];
      if (number === undefined) complain(`${qualifier}: takes a duration such as 30s, 10m, 1h or 2d.`);
      else {
        const at = new Date(nowMs - Number(number) * UNITS[unit]!).toISOString();
        filter[qualifier === 'older' ? 'created_before' : 'created_after'] = at;
      }
    } else filter[qualifier === 'worker' ? 'worker_id' : qualifier] = value;
  }
  if (taskId !== null && Object.keys(filter).length > 0)
    complain('An id is looked for alone, without qualifiers.');
  return { filter: filter as TaskQueryFilter, order, taskId, wrong };
}
