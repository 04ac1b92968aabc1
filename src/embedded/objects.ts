/** Fenced objects: only the holder of the live lease of the same name may write. */
import { readName } from '../authority/reads.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Reads } from '../protocol/requests.ts';
import { openAll } from './opening.ts';
import type { Operator, Reply, Run } from './operator.ts';
import { type ObjectRecord, objectRecord, type ReceiptBody, receiptBody } from './records.ts';

const NOT_FOUND: Refusal = { refused: 'OBJECT_NOT_FOUND' };

export interface ReceiptListing {
  readonly ok: true;
  readonly receipts: readonly ReceiptBody[];
}

export class Objects {
  readonly write: Run<'object.write'>;
  readonly delete: Run<'object.delete'>;
  private readonly operator: Operator;

  constructor(operator: Operator) {
    this.operator = operator;
    this.write = operator.prepare('object.write');
    this.delete = operator.prepare('object.delete');
  }

  get(request: Reads['object.get']): Promise<Reply<ObjectRecord>> {
    return this.operator.read('object.get', request, async () => {
      const { authority } = this.operator;
      const { object_id: objectId } = request;
      const image = await authority.read((machine) => readName(machine, objectId));
      const object = image?.object ?? null;
      if (object === null) return NOT_FOUND;
      return objectRecord(objectId, object, await openAll(authority.log, [object.value]));
    });
  }

  /** Refused writes, newest first. Evidence, not truth: they do not survive a restart. */
  receipts(request: Reads['receipt.list'] = {}): Promise<Reply<ReceiptListing>> {
    return this.operator.read('receipt.list', request, async () => {
      const { object_id: objectId = null, code = null, limit = 100 } = request;
      const { authority } = this.operator;
      // In line with the changes: a receipt names a fence, which may have been granted in a batch not durable yet.
      const receipts = await authority.read(() => authority.receipts.list(objectId, code, limit));
      return { ok: true, receipts: receipts.map(receiptBody) };
    });
  }
}
