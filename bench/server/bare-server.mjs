/** A baseline: Fastify, the schema of task.create, and a file with group commit. */
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { fastify } from 'fastify';
import { benchDir } from '../core/bench-world.mjs';
import { bareChild, listening } from './bare-child.mjs';
import { groupFile } from './group-commit-file.mjs';

const self = fileURLToPath(import.meta.url);

export const bareServer = () => bareChild(self);

async function main() {
  const append = await groupFile(join(benchDir(), 'bare.log'));
  const app = fastify();
  const body = {
    type: 'object',
    required: ['payload'],
    additionalProperties: false,
    properties: { payload: { type: 'string' } },
  };
  let seq = 0;
  app.post('/v1/tasks', { schema: { body } }, async (request, reply) => {
    await append(JSON.stringify(request.body));
    seq += 1;
    reply.code(201);
    return { seq };
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  listening(app.server);
}

if (process.argv[1] === self) await main();
