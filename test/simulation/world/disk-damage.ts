/**
 * Damage to bytes that were durable: a flipped bit, a file cut short, a write that the disk had confirmed and that is
 * gone, a write that landed elsewhere. It is done while nothing runs. What each one may lead to is worked out from the
 * frames that it hits: damage is to be found by the next start, except where the log cannot know that anything
 * was there, which is its very end. A file that ends within a frame was cut: the next start knows.
 */

import { recover } from '../../../src/engines/file/recovery.ts';
import { FRAME_MAGIC, KIND_BATCH, readHead } from '../../../src/engines/frame.ts';
import type { Allowance } from '../history.ts';
import type { Json } from '../plan.ts';
import type { Misplaced } from './disk-trouble.ts';
import { DATA_DIR, type Inode, type SimDisk } from './sim-disk.ts';

/** Where a batch lies. */
interface Place {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly firstSeq: number;
  readonly isBatch: boolean;
}

export interface Damage {
  readonly detail: Record<string, Json>;
  readonly allows: readonly Allowance[];
}

/** The next start refuses the log, or a read finds the damage. */
const FOUND: readonly Allowance[] = [{ may: 'refuse' }, { may: 'unreadable' }];

async function placesOf(disk: SimDisk): Promise<Place[]> {
  const places: Place[] = [];
  await recover({
    files: disk.durableFiles(),
    dir: DATA_DIR,
    segmentBytes: 0,
    replay: { image() {}, entry() {} },
    frame: (file, _buffer, head, shift) => {
      const from = head.offset + shift;
      const { firstSeq, bytes, kind } = head;
      places.push({ path: file.path, from, to: from + bytes, firstSeq, isBatch: kind === KIND_BATCH });
    },
  });
  return places;
}

export async function damage(disk: SimDisk, kind: 'flip' | 'truncate' | 'stale'): Promise<Damage | null> {
  const { random } = disk;
  // The effects of a second damage could not be told from the first.
  if (disk.isDamaged) return null;
  const places = await placesOf(disk);
  const place = places.length === 0 ? null : random.pick(places);
  if (place === null) return null;
  const inode = disk.durableNames.get(place.path)!;
  const from = random.between(place.from, place.to - 1);
  const range = { from, to: from + 1 };
  if (kind === 'flip') {
    const before = inode.durable.view[from]!;
    overwrite(inode, from, Buffer.from([before ^ (1 << random.below(8))]));
  } else if (kind === 'truncate') {
    range.to = inode.durable.length;
    cutShort(inode, from);
  } else {
    const lost = inode.undo.length === 0 ? null : random.pick(inode.undo);
    if (lost === null) return null;
    range.from = lost.position;
    range.to = lost.position + lost.bytes.length;
    overwrite(inode, lost.position, lost.bytes);
  }
  const { path } = place;
  const isCutWithinFrame = kind === 'truncate' && from > place.from;
  return {
    detail: { path, ...range },
    allows: isCutWithinFrame ? FOUND : allowances(places, path, range.from, range.to),
  };
}

/** A write that went astray while the process ran; what it overwrote and what it left out are both damage. */
export function misplacement(misplaced: Misplaced): Damage {
  const { bytes, meantFor, landedAt } = misplaced;
  // A frame, perhaps behind the head of its file; or the zeros of a recovery, which may blot out anything.
  const frameAt = bytes.indexOf(FRAME_MAGIC);
  const head = frameAt < 0 ? null : readHead(bytes, frameAt);
  const fromSeq = head?.firstSeq ?? 1;
  return {
    detail: { meantFor, landedAt, bytes: bytes.length },
    allows: [...FOUND, { may: 'lose', fromSeq }],
  };
}

/** Whatever lies behind the first byte that is hit, with nothing whole after it, looks like a torn write. */
function allowances(places: readonly Place[], path: string, from: number, to: number): Allowance[] {
  const lastPath = places.at(-1)!.path;
  const behind = places.filter((place) => place.path === path && place.from >= to);
  const allows = [...FOUND];
  if (path !== lastPath || behind.length > 0) return allows;
  const hit = places.find((place) => place.path === path && place.to > from && place.isBatch);
  if (hit !== undefined) allows.push({ may: 'lose', fromSeq: hit.firstSeq });
  return allows;
}

function overwrite(inode: Inode, position: number, bytes: Buffer): void {
  inode.startMirror();
  for (const side of [inode.content, inode.durable]) side.put({ position, bytes });
}

function cutShort(inode: Inode, length: number): void {
  inode.startMirror();
  for (const side of [inode.content, inode.durable]) side.cut(Math.min(length, side.length));
}
