/** Pages that are the same for a leader and a standby: health, OpenAPI, the meaning of error codes, the console. */
import { openApiDocument } from '../operations/openapi/openapi.ts';
import { LIVE_PROTOCOL } from '../protocol/live-frames.ts';
import { problem } from '../protocol/problem.ts';
import { type ConsolePages, INDEX } from './console-files.ts';
import { errorPage } from './error-page.ts';
import type { Handle } from './operation-handler.ts';

export type FixedPage = 'health' | 'openapi' | 'error' | 'live' | 'console' | 'console_file';

const HTML = 'text/html; charset=utf-8';

/** Pages for people are self-contained. */
const PAGE_HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
};

export function fixedPages(version: string, console: ConsolePages, basePath = ''): Record<FixedPage, Handle> {
  // As bytes, because it is long: a string would be encoded again for every request, and any client may request it.
  const openapi = Buffer.from(JSON.stringify(openApiDocument(version, basePath)));
  return {
    health: (exchange) => exchange.json(200, '{"status":"alive"}'),

    openapi: (exchange) => exchange.json(200, openapi),

    live(exchange) {
      const detail = `Upgrade to a WebSocket with the subprotocol ${LIVE_PROTOCOL}.`;
      const headers = { upgrade: 'websocket', connection: 'upgrade' };
      exchange.problem(problem({ refused: 'UPGRADE_REQUIRED', detail }), headers);
    },

    error(exchange, { params }) {
      const page = errorPage(params.code ?? '');
      if (page === null)
        exchange.refuse({ refused: 'ROUTE_NOT_FOUND', detail: 'There is no such error code.' });
      else exchange.answer(200, HTML, page, PAGE_HEADERS);
    },

    console: (exchange) => console.send(exchange, INDEX),

    console_file: (exchange, { params }) => console.send(exchange, `assets/${params.file}`),
  };
}
