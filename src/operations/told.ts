/** Notifications of holders, in their wire form. */
import type { HolderNews } from '../authority/holders.ts';
import type { Told } from '../protocol/live-frames.ts';

export function toldOf({ type, leaseSeq, subject, ...more }: HolderNews): Told {
  return [type, { ...subject, lease_seq: leaseSeq, ...more }] as unknown as Told;
}
