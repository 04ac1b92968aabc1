/** What there would be without leasehold: Fastify, the schema of task.create, and a file that is synced in groups. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fastify } from 'fastify';
import { benchDir } from '../core/bench-world.mjs';

const self = fileURLToPath(import.meta.url);

export async function bareServer() {
  const child = spawn(process.execPath, ['--max-semi-space-size=64', self], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    url: line,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function main() {
  const path = join(benchDir(), 'bare.log');
  const blank = await open(path, 'w');
  await blank.write(Buffer.alloc(256 * 1024 * 1024));
  await blank.sync();
  await blank.close();
  const file = await open(path, constants.O_RDWR | constants.O_DSYNC);
  let waiting = [];
  let offset = 0;
  let isBusy = false;
  const flush = async () => {
    isBusy = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const bytes = Buffer.concat(group.map(({ body }) => Buffer.from(JSON.stringify(body))));
      await file.write(bytes, 0, bytes.length, offset);
      offset = (offset + bytes.length) % (128 * 1024 * 1024);
      for (const { resolve } of group) resolve();
    }
    isBusy = false;
  };
  const app = fastify();
  const body = {
    type: 'object',
    required: ['payload'],
    additionalProperties: false,
    properties: { payload: { type: 'string' } },
  };
  app.post('/v1/tasks', { schema: { body } }, async (request, reply) => {
    await new Promise((resolve) => {
      waiting.push({ body: request.body, resolve });
      if (!isBusy) setImmediate(() => isBusy || flush());
    });
    reply.code(201);
    return { seq: offset };
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  process.once('SIGTERM', () => process.exit(0));
  console.log(`http://127.0.0.1:${app.server.address().port}`);
}

if (process.argv[1] === self) await main();
