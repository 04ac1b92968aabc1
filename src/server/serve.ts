/** An authority with a server in front of it, opened and closed as one. */
import { createServer } from 'node:net';
import type { Authority } from '../authority/authority.ts';
import type { Engine } from '../engines/log.ts';
import { type OpenOptions, openCore, type World } from '../open.ts';
import { AccessControl } from './access-control.ts';
import { watchClock } from './clock-watch.ts';
import { type DiskWatchWorld, watchDisk } from './disk-watch.ts';
import { leaderService } from './leader-service.ts';
import type { Logger } from './logger.ts';
import { addressToListenOn } from './network.ts';
import { Server, type ServerOptions, type ServerWorld } from './server.ts';
import { assertUsableTls } from './usable-tls.ts';

export interface ServeOptions extends ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly retention?: NonNullable<OpenOptions['retention']>;
  /** How intents are known again; without a secret one is generated, and the log says so. */
  readonly intents?: NonNullable<OpenOptions['intents']>;
  /** Told once when the log cannot be written any more: all calls have been answered 503, and the process must end. */
  readonly onDeath?: (fault: Error) => void;
}

export interface Served {
  readonly url: string;
  /** What may be replaced while it serves. */
  readonly access: Pick<Server, 'replaceTokens' | 'replaceTls'>;
  /** What it does now; a file has one writer, who leads as long as it lives. */
  readonly role: 'leader' | 'standby';
  /** Resolves when it leads: at once if it does already. */
  whenLeading(): Promise<void>;
  /** The newest position it knows to be durable. */
  readonly seq: number;
  /** Finishes what is in flight, answers the rest with 503, and lets go of the log. */
  stop(): Promise<void>;
}

/** One whose log is its own. */
export interface ServedAlone extends Served {
  readonly authority: Authority;
}

export type ServeWorld = World & { readonly logger: Logger } & Pick<ServerWorld, 'loopLag'> &
  Pick<DiskWatchWorld, 'freeBytes'>;

const NO_SECRET =
  'LEASEHOLD_IDEM_SECRET (or XG2G_IDEM_SECRET) IS NOT SET: a random one was generated, so no intent sent before a restart is recognised after it';

/** Clocks that are set by NTP differ by less. */
const CLOCK_AHEAD_MS = 1_000;

/** Serves a log that no other process can open while this one lives. */
export async function serve(engine: Engine, world: ServeWorld, options: ServeOptions): Promise<ServedAlone> {
  const { retention, intents = {}, onDeath } = options;
  const { logger } = world;
  await assertMayServe(options, () => engine.assertFree?.());
  const core = await openCore(engine, warningOfSecret(world), {
    ...(retention === undefined ? {} : { retention }),
    intents,
    onDeath(fault) {
      logger.error({ err: fault }, 'the log cannot be written any more');
      onDeath?.(fault);
    },
    onCompactionFault: compactionWarning(logger),
  });
  const { authority } = core;
  warnOfClock(authority.clock.aheadMs(), logger);
  try {
    const server = new Server(world, options, (parts) => leaderService(core, parts));
    const url = await listen(server, options);
    logger.info({ url, seq: authority.log.position.lastSeq }, 'serving');
    const diskWatch = watchDisk(authority.log, world);
    watchClock(authority, world);
    reportDamage(authority, logger);
    return {
      url,
      access: server,
      role: 'leader',
      whenLeading: () => Promise.resolve(),
      get seq() {
        return authority.log.position.lastSeq;
      },
      authority,
      async stop() {
        logger.info({}, 'stopping');
        await server.stop();
        diskWatch.cancel();
        await authority.close();
        logger.info({}, 'stopped');
      },
    };
  } catch (fault) {
    await authority.close();
    throw fault;
  }
}

/** Intents work without a configured secret until the next restart. Servers that get no intent need none. */
export function warningOfSecret(world: ServeWorld): ServeWorld {
  return { ...world, onSecretMade: () => world.logger.warn({}, NO_SECRET) };
}

/** Leases are not affected, but readers of timestamps are. */
function warnOfClock(aheadMs: number, logger: Logger): void {
  if (aheadMs < CLOCK_AHEAD_MS) return;
  const says = 'the log is ahead of the clock of this machine; time continues from the end of the log';
  logger.warn({ ahead_ms: aheadMs }, says);
}

/** Bytes of the log have changed, so more may be damaged. */
export function reportDamage(authority: Pick<Authority, 'onDamagedPayload'>, logger: Logger): void {
  authority.onDamagedPayload = (task_id) =>
    logger.error({ task_id }, 'the payload of a task is damaged, so the task is dead; verify the log');
}

/** Nothing stops for it, so it is no error; but a log that only grows is to be known of before the disk is full. */
export function compactionWarning(logger: Logger): (fault: unknown) => void {
  return (fault) => logger.warn({ err: fault }, 'the log could not be compacted; it is tried again');
}

/** Wrong options for access are reported before the log is touched: each opening starts an epoch. */
export async function assertMayServe(
  options: ServeOptions,
  assertLogIsFree: () => Promise<void> | undefined,
): Promise<void> {
  const { host, port, tls } = options;
  new AccessControl(options).assertMayListenOn(host);
  if (tls !== undefined) assertUsableTls(tls);
  try {
    await assertFree(host, port);
  } catch (fault) {
    // Mostly it is the first server on the same data that has the port, and then that is what is to be said.
    await assertLogIsFree();
    throw fault;
  }
}

/** Listens, and gives the URL of where. */
export async function listen(server: Server, { host, port, tls }: ServeOptions): Promise<string> {
  const address = await server.listen(host, port);
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${address.port}`;
}

/** Rejects as listening would; another process may still be faster, and then listening says so. */
function assertFree(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ host: addressToListenOn(host), port, exclusive: true }, () =>
      probe.close(() => resolve()),
    );
  });
}
