/** The trace id of a request, from its header `traceparent` (W3C Trace Context), for log lines. */
import type { IncomingMessage } from 'node:http';
import { isTraceparentText } from '../protocol/texts.ts';

export function traceOf({ headers }: IncomingMessage): { readonly trace_id?: string } {
  const { traceparent } = headers;
  if (typeof traceparent !== 'string' || !isTraceparentText(traceparent)) return {};
  return { trace_id: traceparent.slice(3, 35) };
}
