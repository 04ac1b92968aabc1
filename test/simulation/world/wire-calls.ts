/** One request on the wire as the operations in it: noted when it leaves, and again when it is answered or lost. */
import { PAGES } from '../../../src/operations/pages.ts';
import type { Operation } from '../../../src/operations/table.ts';
import type { HttpRequest as ClientRequest, HttpReply } from '../../../src/seams/http.ts';
import type { Json } from '../plan.ts';
import type { Recorder } from './recorder.ts';
import { routeOf } from './wire-routes.ts';

type Fields = Record<string, Json>;
type HttpRequest = Pick<ClientRequest, 'method' | 'path' | 'body'>;

export class WireCalls {
  readonly #recorder: Recorder;
  readonly #client: string;
  readonly #calls: readonly { readonly op: Operation; readonly request: Fields }[];
  readonly #isBatch: boolean;
  readonly #ids: readonly number[];

  constructor(recorder: Recorder, client: string, request: HttpRequest) {
    this.#recorder = recorder;
    this.#client = client;
    this.#isBatch = request.path === PAGES.batch.path;
    this.#calls = this.#isBatch ? batchOf(request) : [singleOf(request)];
    this.#ids = this.#note(false);
  }

  /** The network delivers it once more. */
  echo(): void {
    for (const id of this.#note(true))
      this.#recorder.unanswered(id, 'unknown', 'This one was not requested.');
  }

  /** It is handed to the authority. */
  arrived(): void {
    for (const id of this.#ids) this.#recorder.note({ kind: 'arrive', id });
  }

  /** Its answer leaves the server that leads in this epoch. */
  served(epoch: number): void {
    for (const id of this.#ids) this.#recorder.note({ kind: 'served', id, epoch });
  }

  answered({ status, body: bytes }: Pick<HttpReply, 'status' | 'body'>): void {
    const body = JSON.parse(Buffer.from(bytes).toString()) as Fields;
    const results = this.#isBatch && status === 200 ? (body.results as unknown as Result[]) : null;
    for (const [index, id] of this.#ids.entries()) {
      const result = results === null ? { status, body } : results[index]!;
      this.#recorder.answer(id, result.status, result.body);
    }
  }

  unanswered(effect: 'none' | 'unknown', why: string): void {
    for (const id of this.#ids) this.#recorder.unanswered(id, effect, why);
  }

  #note(isEcho: boolean): number[] {
    const batch = this.#recorder.newBatch();
    return this.#calls.map(({ op, request }) =>
      this.#recorder.call('wire', this.#client, op, request, batch, isEcho ? { isEcho } : {}),
    );
  }
}

interface Result {
  readonly status: number;
  readonly body: Fields;
}

function batchOf({ body }: HttpRequest): { op: Operation; request: Fields }[] {
  const { ops } = JSON.parse(body ?? '') as { ops: (Fields & { op: Operation })[] };
  return ops.map(({ op, ...request }) => ({ op, request: request as Fields }));
}

function singleOf({ method, path, body }: HttpRequest): { op: Operation; request: Fields } {
  const routed = routeOf(method, path);
  if (routed === null) throw new Error(`The client asked for ${method} ${path}, which is no operation.`);
  const { operation, params, query } = routed;
  return { op: operation, request: { ...query, ...params, ...(body === null ? {} : JSON.parse(body)) } };
}
