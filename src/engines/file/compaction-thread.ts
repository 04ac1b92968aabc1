/** What runs on the thread that compacts: loaded by `src/world/thread-main.ts`, which knows the real disk. */

import type { ThreadOutput, ThreadWorld } from '../../seams/threads.ts';
import { Pace } from '../pace.ts';
import type { CompactionInput } from './compaction.ts';
import { compact } from './compaction.ts';

export async function run(input: unknown, { files, pause }: ThreadWorld): Promise<ThreadOutput> {
  const output = await compact(files, input as CompactionInput, new Pace(pause));
  return { value: output, transfer: [output.oldAt.buffer, output.newAt.buffer] };
}
