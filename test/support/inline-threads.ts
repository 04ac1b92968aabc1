// Threads that are none: the module runs here, on the disk of the test, between other things.
import type { Files } from '../../src/engines/file/files.ts';
import type { ThreadModule, Threads } from '../../src/engines/file/threads.ts';

export function inlineThreads(files: Files): Threads {
  return {
    start(module, input) {
      const result = (async () => {
        const { run } = (await import(/* @vite-ignore */ module)) as ThreadModule;
        return (await run(files, structuredClone(input))).value;
      })();
      return { result, stop: () => result.then(() => {}).catch(() => {}) };
    },
  };
}
