/** The tokens of the newest grant and of the sixteen before it. */
import { describe, expect, it } from 'vitest';
import { tokenHashOf } from '../../test/support/commands.ts';
import type { NameRow } from './row-types.ts';
import { PAST_TOKENS_MAX, TokenMemory } from './token-memory.ts';

const FIRST = 1 as NameRow;
const SECOND = 2 as NameRow;

function createMemory(): TokenMemory {
  const memory = new TokenMemory();
  memory.reserve(9);
  return memory;
}

describe('memory of tokens', () => {
  it('knows the newest in full, all thirty-two bytes of it', () => {
    const memory = createMemory();
    const hash = tokenHashOf('token');
    memory.set(FIRST, hash);
    expect(memory.hashOf(FIRST)).toBe(hash);
    expect(memory.matches(FIRST, hash)).toBe(true);
    for (let index = 0; index < 32; index++) {
      const other =
        hash.slice(0, index) + String.fromCharCode(hash.charCodeAt(index) ^ 1) + hash.slice(index + 1);
      expect(memory.matches(FIRST, other)).toBe(false);
    }
  });

  it('matches nothing before there is one, not even nothing', () => {
    const memory = createMemory();
    expect([memory.hashOf(FIRST), memory.matches(FIRST, ''), memory.matches(FIRST, '\0'.repeat(32))]).toEqual(
      ['', false, false],
    );
  });

  it(`knows the last ${PAST_TOKENS_MAX} before it, newest first`, () => {
    const memory = createMemory();
    const hashes = Array.from({ length: 20 }, (_, index) => tokenHashOf(`${index}`));
    for (const hash of hashes) memory.set(FIRST, hash);
    expect(hashes.map((hash) => memory.isPast(FIRST, hash))).toEqual(
      hashes.map((_, index) => index >= 3 && index < 19),
    );
    expect(memory.pastOf(FIRST)).toEqual(
      hashes
        .slice(3, 19)
        .reverse()
        .map((hash) => hash.slice(0, 8)),
    );
    expect(memory.pastRows.live).toBe(PAST_TOKENS_MAX);
  });

  it('keeps names apart and forgets one by one', () => {
    const memory = createMemory();
    for (const row of [FIRST, SECOND])
      for (const token of ['a', 'b']) memory.set(row, tokenHashOf(`${token}${row}`));
    memory.clear(FIRST);
    expect([
      memory.hashOf(FIRST),
      memory.isPast(FIRST, tokenHashOf('a1')),
      memory.isPast(SECOND, tokenHashOf('a2')),
    ]).toEqual(['', false, true]);
    expect(memory.pastRows.live).toBe(1);
  });

  it('is the same after an image', () => {
    const memory = createMemory();
    for (let index = 0; index < 5; index++) memory.set(FIRST, tokenHashOf(`${index}`));
    memory.restore(SECOND, memory.hashOf(FIRST), memory.pastOf(FIRST));
    expect([memory.hashOf(SECOND), memory.pastOf(SECOND)]).toEqual([
      memory.hashOf(FIRST),
      memory.pastOf(FIRST),
    ]);
  });
});
