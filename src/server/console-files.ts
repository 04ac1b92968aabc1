/**
 * Serves the web console from memory: the files that the build listed, each with its exact type. A request's path is
 * never used as a file system path. `index.html` is revalidated by its ETag; all other file names contain a hash of the
 * contents, so browsers cache them.
 */
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Exchange } from './exchange.ts';

/** A file of the console, as the build wrote it. */
export interface ConsoleFile {
  /** `index.html`, or `assets/` and a name with a hash in it. */
  readonly path: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** What the page must know before its first request. */
export interface ConsoleOptions {
  /** Hides every button that changes something. This is cosmetic: the server enforces the scopes of tokens. */
  readonly readOnly?: boolean;
}

interface Sendable {
  readonly type: string;
  readonly plain: Uint8Array;
  readonly zipped: Uint8Array;
  readonly etag: string;
  readonly cache: string;
}

export const INDEX = 'index.html';
/** Nothing inline, nothing from elsewhere, no frame around it; `self` includes the WebSocket of this server. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
const HEADERS = {
  'content-security-policy': CONTENT_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
};
const FOR_A_YEAR = 'public, max-age=31536000, immutable';
/** The placeholder for the options in `index.html`. */
const OPTIONS_PLACE = 'data-options="{}"';

export class ConsolePages {
  private readonly files = new Map<string, Sendable>();

  constructor(files: readonly ConsoleFile[], { readOnly = false }: ConsoleOptions = {}) {
    for (const { path, type, bytes } of files) {
      const isIndex = path === INDEX;
      this.files.set(path, sendable(type, isIndex ? withOptions(bytes, { readOnly }) : bytes, isIndex));
    }
  }

  /** Answers with a file, or that it has not changed; refuses names that the build did not list. */
  send(exchange: Exchange, path: string): void {
    const file = this.files.get(path);
    if (file === undefined) {
      return exchange.refuse({ refused: 'ROUTE_NOT_FOUND', detail: 'The console has no such file.' });
    }
    const { headers } = exchange.request;
    const { type, plain, zipped, etag, cache } = file;
    const fixed = { ...HEADERS, etag, 'cache-control': cache };
    if (headers['if-none-match']?.includes(etag)) {
      exchange.response.writeHead(304, { 'x-request-id': exchange.requestId, ...fixed });
      exchange.response.end();
      return;
    }
    const isZipped = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
    const coding = isZipped ? { 'content-encoding': 'gzip' } : undefined;
    exchange.answer(200, type, isZipped ? zipped : plain, { ...fixed, ...coding });
  }
}

function sendable(type: string, plain: Uint8Array, isIndex: boolean): Sendable {
  return {
    type,
    plain,
    zipped: gzipSync(plain, { level: 9 }),
    etag: `"${hash('sha256', plain, 'base64url').slice(0, 22)}"`,
    cache: isIndex ? 'no-cache' : FOR_A_YEAR,
  };
}

function withOptions(index: Uint8Array, { readOnly }: { readonly readOnly: boolean }): Uint8Array {
  const text = Buffer.from(index).toString('utf8');
  const options = JSON.stringify({ read_only: readOnly }).replaceAll('"', '&quot;');
  return Buffer.from(text.replace(OPTIONS_PLACE, `data-options="${options}"`));
}
