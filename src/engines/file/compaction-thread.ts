/** What runs on the thread that compacts: loaded by `src/world/thread-main.ts`, which knows the real disk. */
import type { CompactionInput } from './compaction.ts';
import { compact } from './compaction.ts';
import type { Files } from './files.ts';
import type { ThreadOutput } from './threads.ts';

export async function run(files: Files, input: unknown): Promise<ThreadOutput> {
  const output = await compact(files, input as CompactionInput);
  return { value: output, transfer: [output.oldAt.buffer, output.newAt.buffer] };
}
