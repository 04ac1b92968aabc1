// What a thread of ours is started with when its process was started in an unusual way.
import { describe, expect, it } from 'vitest';
import { threadFlags } from './thread-flags.ts';

describe('the flags of a thread', () => {
  it.each([
    [
      ['--enable-source-maps', '--max-old-space-size=100'],
      ['--enable-source-maps', '--max-old-space-size=100'],
    ],
    [['--input-type=module', '--enable-source-maps'], ['--enable-source-maps']],
    [['--input-type', 'module', '--enable-source-maps'], ['--enable-source-maps']],
    [[], []],
  ])('of a process with %j are %j', (flags, expected) => {
    expect(threadFlags(flags)).toEqual(expected);
  });
});
