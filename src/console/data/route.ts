/**
 * The location as a URL: the view, its subject, its filters and the displayed moment. It is kept in the fragment, so
 * that the console works under any path prefix and the server has one page. `#/leases/nightly-report?at_seq=17`
 */
import { computed, signal } from '@preact/signals';

/** A position of the log or an instant; null: now. */
export type Moment = { readonly at_seq: number } | { readonly at: string } | null;

export interface Route {
  readonly view: string;
  /** The displayed lease, task, queue …; null for the list. */
  readonly subject: string | null;
  readonly query: Readonly<Record<string, string>>;
  readonly moment: Moment;
}

export const route = signal<Route>(parseRoute(location.hash));
export const moment = computed(() => route.value.moment);

addEventListener('hashchange', () => {
  route.value = parseRoute(location.hash);
});

function parseRoute(hash: string): Route {
  const [path = '', search = ''] = splitOnce(hash.replace(/^#\/?/, ''), '?');
  const [view = '', ...rest] = path.split('/');
  const query = Object.fromEntries(new URLSearchParams(search));
  const { at_seq: atSeq, at, ...others } = query;
  return {
    view: view === '' ? 'now' : view,
    subject: rest.length === 0 ? null : decoded(rest.join('/')),
    query: others,
    moment: atSeq !== undefined && /^\d{1,16}$/.test(atSeq) ? { at_seq: Number(atSeq) } : at ? { at } : null,
  };
}

/** The URL of a location at the displayed moment. */
export function hrefOf(
  view: string,
  subject: string | null = null,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  return href(view, subject, query, moment.value);
}

/** The URL of the current location at another moment. */
export function hrefAt(at: Moment): string {
  const { view, subject, query } = route.peek();
  return href(view, subject, query, at);
}

function href(
  view: string,
  subject: string | null,
  query: Readonly<Record<string, string | undefined>>,
  at: Moment,
): string {
  const fields = Object.entries({ ...query, ...momentFields(at) }).filter(
    (field): field is [string, string] => field[1] !== undefined && field[1] !== '',
  );
  const search = new URLSearchParams(fields).toString();
  const path = subject === null ? view : `${view}/${encodeURIComponent(subject)}`;
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

/** Navigates; `replace` for filters that change while the user types. */
export function go(href: string, replace = false): void {
  if (!replace) location.hash = href;
  else {
    history.replaceState(null, '', href);
    route.value = parseRoute(href);
  }
}

function momentFields(at: Moment): Record<string, string> {
  if (at === null) return {};
  return Object.fromEntries(Object.entries(at).map(([field, value]) => [field, String(value)]));
}

function splitOnce(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** A link cut off in an e-mail must still work. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
