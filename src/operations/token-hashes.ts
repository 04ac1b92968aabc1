/**
 * SHA-256 of tokens, with a direct-mapped cache of a few thousand hashes: a token is mostly used again soon, when its lease
 * is renewed or released. The place in the cache follows from the token, so no eviction is needed.
 */
import { hash } from 'node:crypto';

const PLACES = 8192;

class TokenHashes {
  private readonly tokens = new Array<string>(PLACES).fill('');
  private readonly hashes = new Array<string>(PLACES).fill('');

  /** Thirty-two characters, one per byte. */
  of(token: string): string {
    const place = placeOf(token);
    if (this.tokens[place] === token) return this.hashes[place]!;
    const digest = hash('sha256', token, 'binary');
    this.tokens[place] = token;
    this.hashes[place] = digest;
    return digest;
  }
}

function placeOf(token: string): number {
  let place = 0;
  for (let index = token.length - 6; index < token.length; index++) {
    place = (Math.imul(place, 31) + token.charCodeAt(index)) | 0;
  }
  return place & (PLACES - 1);
}

const tokens = new TokenHashes();

export function tokenHash(token: string): string {
  return tokens.of(token);
}
