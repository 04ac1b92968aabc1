/**
 * SIGHUP to a server: tokens and certificate are read again, and no connection is dropped. The two are independent: an
 * invalid certificate must not keep a leaked token alive. An invalid file is logged, and the old content stays.
 * SIGHUP never ends a server: while it starts, the reload is deferred; while it stops, the signal is ignored.
 */
import type { Logger } from '../server/logger.ts';
import type { TokenGrant } from '../server/scopes.ts';
import type { Served } from '../server/serve.ts';
import { Failure } from './failure.ts';
import type { Shell } from './shell.ts';
import { readTls, type TlsFlags, tlsFailure } from './tls-files.ts';
import { type AccessWorld, readTokens, type TokenFlags, warnOfShortTokens } from './token-file.ts';

/** SIGHUP, which ends other commands, is not among them. */
export const SERVER_ENDS_ON = ['SIGINT', 'SIGTERM'] as const;

/** Listens from now on. The returned function sets what a reload does, once there is something to reload. */
export function onReloadSignal({
  processes,
}: Pick<Shell, 'processes'>): (reload: () => Promise<void>) => void {
  let carryOut: (() => Promise<void>) | null = null;
  let isAsked = false;
  let isBusy = false;
  const go = async (): Promise<void> => {
    if (isBusy || carryOut === null) return;
    isBusy = true;
    // A signal during a reload causes one more reload.
    while (isAsked) {
      isAsked = false;
      await carryOut();
    }
    isBusy = false;
  };
  processes.onSignals(['SIGHUP'], () => {
    isAsked = true;
    void go();
  });
  return (reload) => {
    carryOut = reload;
    void go();
  };
}

interface Reloaded {
  readonly access: Served['access'];
  readonly flags: TokenFlags & TlsFlags;
  /** Tokens that come from no file. */
  readonly more: readonly TokenGrant[];
  /** Where it serves, for sentences. */
  readonly address: string;
  readonly logger: Logger;
}

/** Never rejects. */
export async function reloadAccess(shell: AccessWorld, reloaded: Reloaded): Promise<void> {
  const { flags, logger } = reloaded;
  const { tokens, tlsCert } = flags;
  if (tokens !== undefined) {
    await attempt(logger, 'the tokens are not reloaded; the old ones stay', () =>
      reloadTokens(shell, reloaded),
    );
  } else if (shell.env.LEASEHOLD_TOKENS) {
    const says =
      'tokens from LEASEHOLD_TOKENS cannot be reloaded: the environment of a process does not change; use --tokens FILE';
    logger.warn({}, says);
  }
  if (tlsCert !== undefined) {
    await attempt(logger, 'the certificate is not reloaded; the old one stays', () =>
      reloadTls(shell, reloaded),
    );
  }
  if (tokens === undefined && tlsCert === undefined) {
    logger.info({}, 'nothing to reload: neither --tokens nor --tls-cert was given');
  }
}

async function attempt(logger: Logger, says: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (fault) {
    if (fault instanceof Failure) logger.error({ why: fault.message }, says);
    else logger.error({ err: fault }, says);
  }
}

async function reloadTokens(shell: AccessWorld, { access, flags, more, logger }: Reloaded): Promise<void> {
  const tokens = (await readTokens(shell, flags)) ?? [];
  access.replaceTokens([...tokens, ...more]);
  logger.info({ tokens: tokens.length, file: flags.tokens }, 'tokens reloaded');
  warnOfShortTokens(tokens, logger);
}

async function reloadTls(shell: AccessWorld, { access, flags, address, logger }: Reloaded): Promise<void> {
  const tls = await readTls(shell, flags, address);
  if (tls === null) return;
  try {
    const { subject, validFrom, validTo } = access.replaceTls(tls);
    logger.info(
      { subject, valid_from: validFrom, valid_to: validTo, file: flags.tlsCert },
      'certificate reloaded',
    );
  } catch (fault) {
    throw tlsFailure(fault, flags, address);
  }
}
