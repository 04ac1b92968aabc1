/** The entry point of the compaction thread. `src/world/thread-main.ts` loads it and passes in the real disk. */

import type { ThreadOutput, ThreadWorld } from '../../seams/threads.ts';
import { Pace } from '../pace.ts';
import type { CompactionInput } from './compaction.ts';
import { compact } from './compaction.ts';

export async function run(input: unknown, { files, pause }: ThreadWorld): Promise<ThreadOutput> {
  const output = await compact(files, input as CompactionInput, new Pace(pause));
  return { value: output, transfer: [output.oldAt.buffer, output.newAt.buffer] };
}
