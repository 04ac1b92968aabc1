/**
 * The curl command for a request. All values are quoted so that no shell expands them, and the token is an environment
 * variable, never its value.
 */
import type { Operation, Requests } from '../../browser.ts';
import { OPERATION_ROWS } from '../../client/operation-table.ts';
import { jsonOf } from './entry-json.ts';

export interface CurlTarget {
  /** The URL of the server, with a slash at its end. */
  readonly server: string;
  readonly hasToken: boolean;
}

/** Single-quotes a text for the shell: a quote inside closes the quotes, is escaped, and reopens them. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function curlOf<Op extends Operation>(
  operation: Op,
  request: Requests[Op],
  { server, hasToken }: CurlTarget,
): string {
  const { method, path } = OPERATION_ROWS[operation];
  const rest = { ...(request as Record<string, unknown>) };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = encodeURIComponent(String(rest[field]));
    delete rest[field];
    return value;
  });
  const parts = ['curl -sS'];
  if (method !== 'GET') parts.push(`-X ${method}`);
  if (hasToken) parts.push('-H "authorization: Bearer $LEASEHOLD_TOKEN"');
  const url = server.replace(/\/$/, '') + filled;
  if (method === 'GET') {
    const query = new URLSearchParams(rest as Record<string, string>).toString();
    return [...parts, quoted(query === '' ? url : `${url}?${query}`)].join(' ');
  }
  const body = `--data-raw ${quoted(jsonOf(rest))}`;
  return [...parts, "-H 'content-type: application/json'", body, quoted(url)].join(' ');
}
