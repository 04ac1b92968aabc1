/** Receipts of refused writes, newest last, bounded. Soft state: they are not in the log. */
import type { PresentedLease } from '../core/commands.ts';
import type { RefusalCode } from '../core/refusals.ts';
import type { Seq } from '../core/row-types.ts';

export interface Receipt {
  readonly code: RefusalCode;
  readonly objectId: string;
  readonly presentedLeaseSeq: Seq | null;
  readonly currentFence: number;
  readonly holderId: string | null;
  readonly atMs: number;
  readonly requestId: string | null;
}

const RECEIPTS_MAX = 10_000;

export class Receipts {
  private receipts: Receipt[] = [];
  private next = 0;

  add(
    code: RefusalCode,
    objectId: string,
    lease: PresentedLease | null,
    fence: number,
    atMs: number,
    requestId: string | null,
  ): void {
    this.receipts[this.next] = {
      code,
      objectId,
      presentedLeaseSeq: lease?.leaseSeq ?? null,
      currentFence: fence,
      holderId: lease?.holderId ?? null,
      atMs,
      requestId,
    };
    this.next = (this.next + 1) % RECEIPTS_MAX;
  }

  /** Newest first. */
  list(objectId: string | null, code: string | null, limit: number): Receipt[] {
    const found: Receipt[] = [];
    for (let back = 1; back <= this.receipts.length && found.length < limit; back++) {
      const receipt = this.receipts[(this.next - back + RECEIPTS_MAX) % RECEIPTS_MAX];
      if (receipt === undefined) continue;
      if (objectId !== null && receipt.objectId !== objectId) continue;
      if (code !== null && receipt.code !== code) continue;
      found.push(receipt);
    }
    return found;
  }
}
