/** What runs on the thread that compacts: loaded by `src/world/thread-main.ts`, which knows how to reach a database. */
import type { Files } from '../file/files.ts';
import type { ThreadOutput } from '../file/threads.ts';
import type { CompactionInput } from './compaction.ts';
import { compact } from './compaction.ts';
import type { Databases } from './sql.ts';

export async function run(_files: Files, input: unknown, databases: Databases): Promise<ThreadOutput> {
  const plan = input as CompactionInput;
  const output = await compact(databases(plan.address), plan);
  return { value: output, transfer: [output.oldAt.buffer, output.newAt.buffer] };
}
