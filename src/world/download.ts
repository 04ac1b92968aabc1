/**
 * A streaming HTTP download for the command line. Breaking out of the iteration closes the connection. Errors are
 * thrown as undici throws them; a response of any status is returned.
 */
import { request } from 'undici';

export interface Downloaded {
  readonly status: number;
  /** The media type without parameters, in lower case; empty when the response has none. */
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
