// Threads that are none: the module runs here, on the disk or the database of the test, between other things.

import type { Databases } from '../../src/seams/database.ts';
import type { Files } from '../../src/seams/files.ts';
import type { ServingModule, ServingThreads, ThreadModule, Threads } from '../../src/seams/threads.ts';
import { pgConnections } from '../../src/world/pg-connections.ts';

export function inlineThreads(files: Files, databases: Databases = pgConnections): Threads & ServingThreads {
  return {
    start(module, input) {
      const result = (async () => {
        const { run } = (await import(/* @vite-ignore */ module)) as ThreadModule;
        return (await run(structuredClone(input), { files, databases, pause: () => undefined })).value;
      })();
      return { result, stop: () => result.then(() => {}).catch(() => {}) };
    },
    serve(module) {
      const serving = import(/* @vite-ignore */ module).then((loaded) =>
        (loaded as ServingModule).serve({ files, databases, pause: () => undefined }),
      );
      return {
        async ask(question) {
          const answer = await serving;
          return structuredClone((await answer(structuredClone(question))).value);
        },
        stop: async () => undefined,
      };
    },
  };
}
