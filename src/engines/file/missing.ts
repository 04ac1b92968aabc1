/**
 * Segments that are not there although they must have been. Where a later segment has a head, the chain says so; behind
 * the end of the log there is only what was never used, and of that:
 *
 *   a spare says which `seq` the log had reached       the log must reach it
 *   a checkpoint is made when something follows it     a segment in use must follow it
 *   without a checkpoint nothing was ever deleted      the first segment, number 1, must be there
 *   a compaction needs a sealed segment                before the first one is sealed, nothing but its spare takes a
 *                                                      number: after a single segment comes the next number
 *
 * A gap in the numbers proves nothing else: a compaction takes more than it uses, and those of one that died are lost.
 */
import { LogDamagedError } from '../log.ts';
import { fileName } from './file-names.ts';
import type { Recovered } from './recovery.ts';

export function assertNoneMissing(
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
    throw new LogDamagedError(fileName(1, 'seg'), 0, 'it is missing, and no checkpoint stands for it');
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
    `${there ? 'its end' : 'it'} is missing: the log ends at seq ${chain.lastSeq}, and had reached ${seq} when ${spare} was made`,
  );
}
