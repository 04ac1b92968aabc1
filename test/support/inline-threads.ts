// Threads that are none: the module runs here, on the disk or the database of the test, between other things.

import type { Databases } from '../../src/seams/database.ts';
import type { Files } from '../../src/seams/files.ts';
import type { ThreadModule, Threads } from '../../src/seams/threads.ts';
import { pgConnections } from '../../src/world/pg-connections.ts';

export function inlineThreads(files: Files, databases: Databases = pgConnections): Threads {
  return {
    start(module, input) {
      const result = (async () => {
        const { run } = (await import(/* @vite-ignore */ module)) as ThreadModule;
        return (await run(structuredClone(input), { files, databases, pause: () => undefined })).value;
      })();
      return { result, stop: () => result.then(() => {}).catch(() => {}) };
    },
  };
}
