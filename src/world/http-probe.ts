/** One plain GET and everything it returned, for `leasehold doctor`. */
import { request } from 'undici';
import type { HttpProbe } from '../seams/probes.ts';

const TIMEOUT_MS = 5_000;

export const undiciProbe: HttpProbe = async (url, token) => {
  const from = performance.now();
  const { statusCode, headers, body } = await request(url, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await body.text();
  const { date } = headers;
  return {
    status: statusCode,
    text,
    dateMs: typeof date === 'string' ? Date.parse(date) : Number.NaN,
    tookMs: performance.now() - from,
  };
};
