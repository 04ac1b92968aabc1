/** The entry point of the compaction thread. `src/world/thread-main.ts` loads it and passes in database access. */
import type { ThreadOutput, ThreadWorld } from '../../seams/threads.ts';
import { Pace } from '../pace.ts';
import type { CompactionInput } from './compaction.ts';
import { compact } from './compaction.ts';

export async function run(input: unknown, { databases, pause }: ThreadWorld): Promise<ThreadOutput> {
  const plan = input as CompactionInput;
  const output = await compact(databases(plan.address), plan, new Pace(pause));
  return { value: output, transfer: [output.oldAt.buffer, output.newAt.buffer] };
}
