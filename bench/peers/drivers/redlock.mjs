/** redlock on one Redis. It polls for a held name, here every 1 to 5 ms; its default of 200 ms would only wait longer. */
import { REDIS_VARIANTS, redisServer } from '../redis-server.mjs';

const TTL_MS = 30_000;
const SETTINGS = { retryCount: -1, retryDelay: 3, retryJitter: 2, automaticExtensionThreshold: 500 };

export const peer = {
  name: 'redlock',
  kinds: ['lock'],
  needs: { commands: ['redis-server'], packages: ['redlock', 'ioredis'] },
  variants: REDIS_VARIANTS,
  async start(spec) {
    const [{ default: Redlock }, { Redis }] = await Promise.all([import('redlock'), import('ioredis')]);
    const server = await redisServer(spec);
    const redis = new Redis({ host: '127.0.0.1', port: server.port });
    const redlock = new Redlock([redis], SETTINGS);
    // It reports every try that found the name held.
    redlock.on('error', () => undefined);
    return {
      pids: server.pids,
      async stop() {
        redis.disconnect();
        await server.stop();
      },
      acquire: (name) => redlock.acquire([name], TTL_MS),
      release: (lock) => lock.release(),
      async renewable(name) {
        let lock = await redlock.acquire([name], 20 * TTL_MS);
        return async () => {
          lock = await lock.extend(20 * TTL_MS);
        };
      },
    };
  },
};
