/**
 * Streams, files and pages, each with its path, scope and refusals. They are not operations: their handlers are written by
 * hand, and they are documented like the operations.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { RefusalCode } from '../core/refusals.ts';
import { ENTRY_TYPES } from '../protocol/entry-types.ts';
import { fields, note, Seq, SessionId } from './fields.ts';
import type { Scope } from './operation.ts';

/** A route that answers with a stream, a page or a file instead of one JSON body. */
export interface Page {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** Null: no token is needed. */
  readonly scope: Scope | null;
  readonly type: string;
  readonly refusals: readonly RefusalCode[];
  readonly does: string;
}

export const PAGES = {
  batch: {
    path: '/v1/batch',
    method: 'POST',
    scope: 'v1:write',
    type: 'application/json',
    refusals: ['NOT_LEADER'],
    does: 'Several operations in one request, in order, each judged on its own.',
  },
  log: {
    path: '/v1/log',
    method: 'GET',
    scope: 'v1:read',
    type: 'application/x-ndjson',
    refusals: ['LOG_COMPACTED', 'NOT_LEADER'],
    does: 'Durable entries, one JSON object a line; with follow=1 it stays open.',
  },
  events: {
    path: '/v1/events',
    method: 'GET',
    scope: 'v1:read',
    type: 'text/event-stream',
    refusals: ['LOG_COMPACTED', 'NOT_LEADER'],
    does: 'Durable entries as server-sent events; resumes by Last-Event-ID.',
  },
  session_events: {
    path: '/api/v3/sessions/{session_id}/events',
    method: 'GET',
    scope: 'v3:read',
    type: 'text/event-stream',
    refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL', 'OVERLOADED', 'NOT_LEADER'],
    does: 'The entries of one session as server-sent events, from its intent to its end; resumes by Last-Event-ID.',
  },
  live: {
    path: '/v1/live',
    method: 'GET',
    scope: null,
    type: 'text/plain',
    refusals: ['UNAUTHENTICATED', 'UPGRADE_REQUIRED'],
    does: 'Upgrades to a WebSocket that carries every operation; docs/protocol.md describes it.',
  },
  backup: {
    path: '/v1/backup',
    method: 'GET',
    scope: 'v1:admin',
    type: 'application/x-tar',
    refusals: ['ROUTE_NOT_FOUND', 'NOT_LEADER'],
    does: 'A consistent copy of the log while it is being written, as a tar archive.',
  },
  metrics: {
    path: '/metrics',
    method: 'GET',
    scope: 'v1:read',
    type: 'text/plain',
    refusals: [],
    does: 'Prometheus metrics.',
  },
  health: {
    path: '/healthz',
    method: 'GET',
    scope: null,
    type: 'application/json',
    refusals: [],
    does: 'Liveness: 200 while the process answers.',
  },
  ready: {
    path: '/readyz',
    method: 'GET',
    scope: null,
    type: 'application/json',
    refusals: ['UNAVAILABLE', 'NOT_LEADER'],
    does: 'Readiness: 200 while this server may write.',
  },
  openapi: {
    path: '/openapi.json',
    method: 'GET',
    scope: null,
    type: 'application/json',
    refusals: [],
    does: 'The OpenAPI 3.1 description of this server.',
  },
  error: {
    path: '/errors/{code}',
    method: 'GET',
    scope: null,
    type: 'text/html',
    refusals: ['ROUTE_NOT_FOUND'],
    does: 'What an error code means and what to do about it.',
  },
  console: {
    path: '/',
    method: 'GET',
    scope: null,
    type: 'text/html',
    refusals: ['ROUTE_NOT_FOUND'],
    does: 'The web console.',
  },
  console_file: {
    path: '/assets/{file}',
    method: 'GET',
    scope: null,
    type: 'application/octet-stream',
    refusals: ['ROUTE_NOT_FOUND'],
    does: 'A script, a style sheet or an image of the web console.',
  },
} as const satisfies Record<string, Page>;

export type PageName = keyof typeof PAGES;

const Follow = Type.Optional(
  Type.Literal(1, { description: '1 keeps the reply open; entries are sent as they become durable.' }),
);

/** `/v1/log`. In a query the types are one text, separated by commas. */
export const LOG_REQUEST = fields({
  from: Type.Optional(
    note(
      Seq,
      'The first position to read; by default the oldest one kept, or with follow the end of the log.',
    ),
  ),
  // A stream uses constant memory, so it may be as long as the log.
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'How many at most; by default all of them, and with follow no limit.',
    }),
  ),
  follow: Follow,
  types: Type.Optional(
    Type.Array(Type.Union(ENTRY_TYPES.map((type) => Type.Literal(type))), {
      minItems: 1,
      maxItems: ENTRY_TYPES.length,
      description: 'Only entries of these types, separated by commas.',
    }),
  ),
});
export type LogRequest = Static<typeof LOG_REQUEST>;

/** `/v1/events`, with `follow` always on. */
export const EVENTS_REQUEST = Type.Omit(LOG_REQUEST, ['limit'], { additionalProperties: false });

/** `/api/v3/sessions/{session_id}/events`, with `follow` always on. */
export const SESSION_EVENTS_REQUEST = fields({
  session_id: SessionId,
  from: Type.Optional(note(Seq, 'The first position to read; by default that of the intent.')),
  follow: Follow,
});
export type SessionEventsRequest = Static<typeof SESSION_EVENTS_REQUEST>;
