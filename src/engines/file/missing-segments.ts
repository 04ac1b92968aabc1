/**
 * Detects missing segments. Before the newest segment the chain of heads shows a gap. After it only these rules do:
 *
 *   a spare states the `seq` that the log had reached      the log must reach it
 *   a checkpoint is written when something follows it      a used segment must follow it
 *   without a checkpoint nothing was ever deleted          segment 1 must exist
 *   a compaction needs a sealed segment                    until one is sealed only the spare takes a number, so
 *                                                          a single segment is followed by the next number
 *
 * Other gaps in the numbers prove nothing: a compaction reserves more numbers than it uses, and loses them if it
 * dies.
 */
import { LogDamagedError } from '../log.ts';
import { fileName } from './file-names.ts';
import type { Recovered } from './recovery.ts';

export function assertNoSegmentMissing(
  recovered: Pick<Recovered, 'checkpoint' | 'segments' | 'blank' | 'chain' | 'lastNumber'>,
): void {
  const { checkpoint, segments, blank, lastNumber } = recovered;
  for (const { name, spareHead } of blank) {
    if (spareHead) assertReached(recovered, name, spareHead.seq - 1, spareHead.after);
  }
  const [first] = segments;
  const [spare] = blank;
  if (checkpoint) {
    if (first) return;
    const where = spare?.name ?? checkpoint.parts.at(-1)!.name;
    throw new LogDamagedError(where, 0, `no segment follows checkpoint ${checkpoint.parts[0]!.name}`);
  }
  if (first === undefined) {
    if (lastNumber === 0 || spare?.number === 1) return;
    throw new LogDamagedError(fileName(1, 'seg'), 0, 'it is missing, and no checkpoint covers it');
  }
  if (segments.length > 1 || spare === undefined || spare.number === first.number + 1) return;
  const missing = fileName(first.number + 1, 'seg');
  throw new LogDamagedError(missing, 0, `it is missing: ${spare.name} cannot come after ${first.name}`);
}

function assertReached(
  { segments, chain }: Pick<Recovered, 'segments' | 'chain'>,
  spare: string,
  seq: number,
  after: number,
): void {
  if (chain.lastSeq >= seq) return;
  const there = segments.find(({ number }) => number === after);
  throw new LogDamagedError(
    fileName(after, 'seg'),
    there?.end ?? 0,
    `${there ? 'its end' : 'it'} is missing: the log ends at seq ${chain.lastSeq}, but had reached ${seq} when ${spare} was created`,
  );
}
