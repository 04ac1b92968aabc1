/**
 * A server of a log that several processes share: it listens at once, is a standby while another leads, and takes over in
 * turn (`src/authority/leadership.ts` has the states). Its whole service is swapped when its role changes.
 */
import { Leadership } from '../authority/leadership.ts';
import { Standby } from '../authority/standby.ts';
import { type Engine, LogGoneError } from '../engines/log.ts';
import { coreOf, retentionOf } from '../open.ts';
import { watchClock } from './clock-watch.ts';
import { leaderService } from './leader-service.ts';
import {
  assertMayServe,
  compactionWarning,
  isNew,
  listen,
  reportDamage,
  type Served,
  type ServeOptions,
  type ServeWorld,
  warningOfSecret,
} from './serve.ts';
import { Server } from './server.ts';
import { standbyService } from './standby-service.ts';

interface ServeInTurnOptions extends ServeOptions {
  /** The URL at which others reach this server, if not the one it listens on. */
  readonly advertise?: string;
}

const GONE =
  'the tables of the log are gone: standing by until they are back; a server that is started now would begin a new log and ' +
  'grant the same fencing numbers again';

/** `engineAt` returns the engine for a server that is reached at the URL. */
export async function serveInTurn(
  engineAt: (url: string) => Engine,
  world: ServeWorld,
  options: ServeInTurnOptions,
): Promise<Served> {
  const { clock, timers, hashSeed, logger } = world;
  const { onDeath } = options;
  await assertMayServe(options, () => undefined);
  const server = new Server(world, options, (parts) => standbyService(new Standby(hashSeed), parts));
  const url = await listen(server, options);
  let role: Served['role'] = 'standby';
  let seqNow = (): number => 0;
  let hasBegunLog = false;
  let isGoneTold = false;
  const leadingCalls: (() => void)[] = [];
  const { advertise = url } = options;
  const leadership = new Leadership(engineAt(advertise), {
    clock,
    timers,
    hashSeed,
    ownUrls: [advertise, url],
    retention: retentionOf(options),
    onCompactionFault: compactionWarning(logger),

    onStandby(standby, fault) {
      role = 'standby';
      seqNow = () => standby.state.lastSeq;
      server.offer(standbyService(standby, server.parts));
      if (fault === null) return;
      const cause = fault.cause instanceof Error ? { cause: fault.cause.message } : {};
      logger.error({ why: fault.message, ...cause }, 'leading no more; its state is dropped');
      logger.debug({ err: fault }, 'why it leads no more');
    },

    onLead(authority) {
      role = 'leader';
      hasBegunLog = isNew(authority.log.position.lastSeq);
      seqNow = () => authority.log.position.lastSeq;
      server.offer(leaderService(coreOf(authority, warningOfSecret(world), options), server.parts));
      logger.info({ url, seq: seqNow(), epoch: authority.log.epoch }, 'leading');
      watchClock(authority, world);
      reportDamage(authority, logger);
      for (const call of leadingCalls.splice(0)) call();
    },

    onOutOfReach(fault, tries) {
      if (tries === 1) isGoneTold = false;
      if (fault instanceof LogGoneError && !isGoneTold) {
        // Logged even if the warning below was: an unreachable database is common, missing tables are not.
        isGoneTold = true;
        logger.error({ err: fault }, GONE);
        return;
      }
      const says = 'the log is out of reach; it is tried again';
      if (tries === 1) logger.warn({ err: fault }, says);
      else logger.debug({ err: fault, tries }, says);
    },

    onEnd(fault) {
      logger.error({ err: fault }, 'the log cannot be followed any more');
      onDeath?.(fault instanceof Error ? fault : new Error(String(fault)));
    },
  });
  try {
    await leadership.start();
  } catch (fault) {
    await server.stop();
    throw fault;
  }
  logger.info({ url, role, seq: seqNow() }, 'serving');
  return {
    url,
    access: server,
    get role() {
      return role;
    },
    get hasBegunLog() {
      return hasBegunLog;
    },
    whenLeading() {
      if (role === 'leader') return Promise.resolve();
      return new Promise((resolve) => leadingCalls.push(resolve));
    },
    get seq() {
      return seqNow();
    },
    async stop() {
      logger.info({}, 'stopping');
      await server.stop();
      await leadership.stop();
      logger.info({}, 'stopped');
    },
  };
}
