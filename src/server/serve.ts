/** Opens and closes an authority and the server in front of it together. */
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
  /** The secrets for recognising repeated intents. Without one a secret is generated, with a warning. */
  readonly intents?: NonNullable<OpenOptions['intents']>;
  /** Called once when the log can no longer be written: all calls have been answered 503, and the process must end. */
  readonly onDeath?: (fault: Error) => void;
}

export interface Served {
  readonly url: string;
  /** Replaces tokens and certificates while it serves. */
  readonly access: Pick<Server, 'replaceTokens' | 'replaceTls'>;
  /** Its role now. The server of a log in files is always the leader. */
  readonly role: 'leader' | 'standby';
  /** Resolves when it leads; at once if it already does. */
  whenLeading(): Promise<void>;
  /** Whether it found no log and began one. */
  readonly hasBegunLog: boolean;
  /** The newest durable position that it knows. */
  readonly seq: number;
  /** Finishes what is in flight, answers the rest with 503, and closes the log. */
  stop(): Promise<void>;
}

/** A server that is the only writer of its log. */
export interface ServedAlone extends Served {
  readonly authority: Authority;
}

export type ServeWorld = World & { readonly logger: Logger } & Pick<ServerWorld, 'loopLag'> &
  Pick<DiskWatchWorld, 'freeBytes'>;

const NO_SECRET =
  'LEASEHOLD_IDEM_SECRET (or XG2G_IDEM_SECRET) IS NOT SET: a random one was generated, so no intent sent before a restart is recognised after it';

/** Clocks synchronised by NTP differ by less. */
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
    const { lastSeq } = authority.log.position;
    logger.info({ url, seq: lastSeq }, 'serving');
    const diskWatch = watchDisk(authority.log, world);
    watchClock(authority, world);
    reportDamage(authority, logger);
    return {
      url,
      access: server,
      role: 'leader',
      whenLeading: () => Promise.resolve(),
      hasBegunLog: isNew(lastSeq),
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

/** Warns with the first intent: without a configured secret, repeated intents are recognised only until the next restart. */
export function warningOfSecret(world: ServeWorld): ServeWorld {
  return { ...world, onSecretMade: () => world.logger.warn({}, NO_SECRET) };
}

/** Leases are not affected, but timestamps are ahead. */
function warnOfClock(aheadMs: number, logger: Logger): void {
  if (aheadMs < CLOCK_AHEAD_MS) return;
  const says = 'the log is ahead of the clock of this machine; time continues from the end of the log';
  logger.warn({ ahead_ms: aheadMs }, says);
}

/** The payload failed its checksum, so more of the log may be damaged. */
export function reportDamage(authority: Pick<Authority, 'onDamagedPayload'>, logger: Logger): void {
  authority.onDamagedPayload = (task_id) =>
    logger.error({ task_id }, 'the payload of a task is damaged, so the task is dead; verify the log');
}

/** A warning, because nothing stops; but the operator must know that the log only grows before the disk is full. */
export function compactionWarning(logger: Logger): (fault: unknown) => void {
  return (fault) => logger.warn({ err: fault }, 'the log could not be compacted; it is tried again');
}

/** Checks the access options before the log is opened: each opening starts an epoch. */
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
    // Usually the port is taken by another server on the same data. Then report that instead.
    await assertLogIsFree();
    throw fault;
  }
}

/** The start of its first writer is the first entry of a log. */
export function isNew(seqAtStart: number): boolean {
  return seqAtStart === 1;
}

/** Listens and returns its URL. */
export async function listen(server: Server, { host, port, tls }: ServeOptions): Promise<string> {
  const address = await server.listen(host, port);
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${address.port}`;
}

/** Rejects as listening would. Another process may still take the port; then listening itself fails. */
function assertFree(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ host: addressToListenOn(host), port, exclusive: true }, () =>
      probe.close(() => resolve()),
    );
  });
}
