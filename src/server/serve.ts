/** An authority with a server in front of it, opened and closed as one. */
import type { Authority } from '../authority/authority.ts';
import { type OpenOptions, openCore, type World } from '../embedded/open.ts';
import type { Engine } from '../engines/log.ts';
import type { Logger } from './logger.ts';
import { Server, type ServerOptions, type ServerWorld } from './server.ts';

export interface ServeOptions extends ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly retention?: NonNullable<OpenOptions['retention']>;
  /** Told once when the log cannot be written any more: everybody has been answered 503, and it is time to end. */
  readonly onDeath?: (fault: Error) => void;
}

export interface Served {
  readonly url: string;
  readonly authority: Authority;
  /** Finishes what is in flight, answers the rest with 503, and lets go of the log. */
  stop(): Promise<void>;
}

export async function serve(
  engine: Engine,
  world: World & { readonly logger: Logger } & Pick<ServerWorld, 'loopLag'>,
  options: ServeOptions,
): Promise<Served> {
  const { host, port, retention, onDeath, tls } = options;
  const { logger } = world;
  const core = await openCore(engine, world, {
    ...(retention === undefined ? {} : { retention }),
    onDeath(fault) {
      logger.error({ err: fault }, 'the log cannot be written any more');
      onDeath?.(fault);
    },
  });
  try {
    const server = new Server({ ...world, ...core }, options);
    const address = await server.listen(host, port);
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    const url = `${tls === undefined ? 'http' : 'https'}://${name}:${address.port}`;
    logger.info({ url, seq: core.authority.log.position.lastSeq }, 'serving');
    return {
      url,
      authority: core.authority,
      async stop() {
        logger.info({}, 'stopping');
        await server.stop();
        await core.authority.close();
        logger.info({}, 'stopped');
      },
    };
  } catch (fault) {
    await core.authority.close();
    throw fault;
  }
}
