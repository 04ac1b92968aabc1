/**
 * Fetches something large over HTTP, byte by byte as it arrives: a seam of the command line. Whoever stops reading
 * ends the connection. What fails on the way is thrown as undici throws it; an answer of any status is an answer.
 */
import { request } from 'undici';

export interface Downloaded {
  readonly status: number;
  /** The media type without its parameters, in lower case; empty when the answer has none. */
  readonly type: string;
  readonly body: AsyncIterable<Uint8Array>;
}

export type Download = (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Downloaded>;

export const undiciDownload: Download = async (url, headers, signal) => {
  const { statusCode, headers: answered, body } = await request(url, { headers, signal });
  const [type = ''] = String(answered['content-type'] ?? '').split(';', 1);
  return { status: statusCode, type: type.trim().toLowerCase(), body };
};
