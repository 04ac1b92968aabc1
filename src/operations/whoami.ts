/** `whoami.get`: the name and the scopes of the token of a request. Any token is enough. */
import { Type } from '@sinclair/typebox';
import type { CallOptions } from '../authority/request.ts';
import { fields, note, stale } from './fields.ts';
import { serverRead } from './operation.ts';
import { Text } from './reply-fields.ts';

/** In process there are no tokens, and everything is allowed. */
const EMBEDDED: NonNullable<CallOptions['caller']> = { name: 'embedded', granted: ['*'] };

export const whoami = serverRead({
  name: 'whoami.get',
  path: '/v1/whoami',
  scope: 'any',
  does: 'Show the name and the scopes of the token of the request.',
  details: `\`scopes\` are those the token was granted; each \`admin\` implies \`write\`, each \`write\` implies \`read\`, and \`*\` is
every scope. A token without a name is called \`token 1\`, \`token 2\`, … in the order of the list. A server without tokens
and an embedded authority answer \`*\`. A standby answers for itself.`,
  request: fields({ stale }),
  reply: Type.Object({
    name: note(Text, 'the name of the token'),
    scopes: Type.Array(Text, { description: 'its scopes as they were granted' }),
  }),
  refusals: [],
  example: { request: {}, reply: { name: 'billing', scopes: ['v1:write', 'v3:read'] } },
  look: (_, __, { caller = EMBEDDED }) =>
    Promise.resolve({ ok: true, name: caller.name, scopes: [...caller.granted] }),
});
