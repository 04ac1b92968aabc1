// What a thread of ours is started with when its process was started in an unusual way.
import { describe, expect, it } from 'vitest';
import { threadOptions } from './thread-options.ts';

describe('the options of a thread', () => {
  it.each([[[]], [['--enable-source-maps', '--max-old-space-size=100']]])(
    'leave it the flags of its process: %j',
    (flags) => {
      expect(threadOptions(flags)).toEqual({});
    },
  );

  it.each([[['--input-type=module', '--expose-gc']], [['--expose-gc', '--input-type', 'module']]])(
    'leave it none where one of them is refused with a file: %j',
    (flags) => {
      expect(threadOptions(flags)).toEqual({ execArgv: [] });
    },
  );
});
