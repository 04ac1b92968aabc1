/** The operations on one live connection: noted when they leave, when they arrive, and when they are answered or lost. */
import type { Operation } from '../../../src/operations/table.ts';
import { isOpaqueField } from '../../../src/protocol/read-json.ts';
import type { Json } from '../plan.ts';
import type { Recorder } from './recorder.ts';

type Fields = Record<string, Json>;
type Item = readonly [id: number, operation: Operation, request?: Fields];

export class LiveCalls {
  readonly #recorder: Recorder;
  readonly #client: string;
  /** By the ids of the connection. */
  readonly #calls = new Map<number, number>();

  constructor(recorder: Recorder, client: string) {
    this.#recorder = recorder;
    this.#client = client;
  }

  /** A frame leaves the client; gives the call that notes its arrival at the authority. */
  left(frame: string): () => void {
    const items = (JSON.parse(frame) as Item[]).filter(([id]) => typeof id === 'number');
    if (items.length === 0) return () => undefined;
    const batch = this.#recorder.newBatch();
    const ids = items.map(([id, operation, request = {}]) => {
      const fields = opened(request) as Fields;
      const call = this.#recorder.call('wire', this.#client, operation, fields, batch, { isLive: true });
      this.#calls.set(id, call);
      return call;
    });
    return () => {
      for (const id of ids) this.#recorder.note({ kind: 'arrive', id });
    };
  }

  /** A frame reaches the client. */
  answered(frame: string): void {
    const [, , ...items] = JSON.parse(frame) as [number, number, ...Json[][]];
    for (const [id, status, body] of items) {
      const call = typeof id === 'number' ? this.#calls.get(id) : undefined;
      if (call === undefined) continue;
      this.#calls.delete(id as number);
      if (status === undefined) this.#recorder.unanswered(call, 'none', 'The client ended its wait.');
      else this.#recorder.answer(call, status as number, opened(body!) as Fields);
    }
  }

  ended(why: string): void {
    for (const call of this.#calls.values()) this.#recorder.unanswered(call, 'unknown', why);
    this.#calls.clear();
  }
}

/** Opaque values as HTTP has them: as JSON, and not as the text of it. */
function opened(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(opened);
  return Object.fromEntries(
    Object.entries(value as Fields).map(([key, field]) => [
      key,
      isOpaqueField(key) && typeof field === 'string' ? (JSON.parse(field) as Json) : opened(field),
    ]),
  );
}
