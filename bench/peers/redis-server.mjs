/** A Redis for the peers that need one, with the append-only file as the variant wants it and without snapshots. */
import { freePort, serverProcess } from './server-process.mjs';

/** `appendfsync` is no, everysec or always; no means that there is no append-only file at all. */
export const REDIS_VARIANTS = [
  { name: 'Redis without AOF', durable: 'no', appendfsync: 'no' },
  { name: 'Redis, AOF everysec', durable: 'within 1 s', appendfsync: 'everysec' },
  { name: 'Redis, AOF always', durable: 'yes', appendfsync: 'always' },
];

export async function redisServer({ dir, variant: { appendfsync } }) {
  const { Redis } = await import('ioredis');
  const port = await freePort();
  const isLogged = appendfsync !== 'no';
  const settings = {
    port,
    bind: '127.0.0.1',
    dir,
    save: '',
    appendonly: isLogged ? 'yes' : 'no',
    ...(isLogged && { appendfsync }),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const ready = async () => {
    const redis = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: null });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      await redis.ping();
    } finally {
      redis.disconnect();
    }
  };
  const start = () => serverProcess('redis-server', args, { dir, ready });
  let server = await start();
  return {
    port,
    pids: [server.pid],
    stop: () => server.stop(),
    kill: () => server.kill(),
    async revive() {
      server = await start();
    },
  };
}
