/** `--tokens FILE` and `LEASEHOLD_TOKENS`: the tokens with their scopes, and faults of the list as one sentence. */
import { LIMITS } from '../protocol/limits.ts';
import type { Logger } from '../server/logger.ts';
import { isPlain, parseTokens, type TokenGrant } from '../server/scopes.ts';
import { wrongUsage } from './failure.ts';
import type { Shell } from './shell.ts';

export interface TokenFlags {
  readonly tokens?: string;
}

/** The files that tokens and certificates are read from. */
export interface AccessWorld {
  readonly env: Shell['env'];
  readonly files: Pick<Shell['files'], 'read'>;
}

/** Null when neither is given. */
export async function readTokens(
  { env, files }: AccessWorld,
  { tokens }: TokenFlags,
): Promise<TokenGrant[] | null> {
  try {
    if (tokens !== undefined) return parseTokens(await files.read(tokens), tokens);
    return env.LEASEHOLD_TOKENS ? parseTokens(env.LEASEHOLD_TOKENS, 'LEASEHOLD_TOKENS') : null;
  } catch (fault) {
    const { code, message } = fault as NodeJS.ErrnoException;
    if (code === undefined) throw wrongUsage(message);
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
    throw wrongUsage(`The tokens in ${tokens} (--tokens) cannot be used: ${why}.`);
  }
}

/** Skips tokens listed by their hash, whose length is unknown. */
export function warnOfShortTokens(tokens: readonly TokenGrant[], logger: Pick<Logger, 'warn'>): void {
  for (const { name, token } of tokens.filter(isPlain)) {
    if (token.length < LIMITS.tokenBytesMin)
      logger.warn({ name }, 'a token is so short that it could be guessed');
  }
}
