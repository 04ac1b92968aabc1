/** Clients that follow the log over the wire, for a while, from now on or from where they were: nothing is left out. */
import { LeaseholdError } from '../../../src/protocol/leasehold-error.ts';
import type { ClientProgram } from '../world/client-program.ts';

export async function followers(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  let nextSeq = 0;
  await program.rounds(async () => {
    program.doing('following the log');
    const stop = new AbortController();
    const isResumed = nextSeq > 0 && random.chance(0.7);
    const from = isResumed ? { from: nextSeq } : {};
    const stream = program.newStream();
    void program.sleep(100, 6_000).then(() => stop.abort());
    try {
      for await (const { seq, type } of leasehold.follow({ ...from, signal: stop.signal })) {
        program.followed(stream, seq, type);
        nextSeq = seq + 1;
      }
    } catch (fault) {
      // What was compacted away cannot be followed any more; it begins anew.
      if (!(fault instanceof LeaseholdError)) throw fault;
      nextSeq = 0;
    }
    await program.sleep(1, 500);
  });
}
