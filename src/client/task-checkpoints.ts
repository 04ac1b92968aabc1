/**
 * Sends the checkpoints of one running task, one at a time and always the newest. A value that is replaced before it
 * was sent counts as saved once the newer one is. An awaited checkpoint is sent at once, of the others at most one a
 * second. A checkpoint still pending when the task fails or is released is sent before the verdict; a completion needs
 * none.
 */
import { Json } from '../protocol/json.ts';
import { sleep } from './sleep.ts';
import { invalidTask, parseBy } from './standard-schema.ts';
import { refusedFor } from './task-lease-refusal.ts';
import type { TaskRun } from './task-run.ts';
import type { Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

const INTERVAL_MS = 1_000;

export class TaskCheckpoints {
  private readonly run: TaskRun;
  private readonly transport: Transport;
  private readonly world: ClientWorld;
  /** Numbers the values: one with a slow schema must not replace a newer one. */
  private count = 0;
  private newest: { readonly number: number; readonly value: Json } | null = null;
  /** The next checkpoint to send, shared by all values that are replaced until then. */
  private upcoming: { readonly sent: Promise<void>; readonly hurry: AbortController } | null = null;
  private previous: Promise<void> = Promise.resolve();
  private readyAtMs = 0;
  /** Aborted when the task has ended for its handler. */
  private readonly ended = new AbortController();
  private isDropped = false;

  constructor(run: TaskRun, transport: Transport, world: ClientWorld) {
    this.run = run;
    this.transport = transport;
    this.world = world;
  }

  readonly save = (value: unknown): Promise<void> => {
    const awaited = new AbortController();
    return new Saved(this.queue(value, awaited.signal), () => awaited.abort());
  };

  /** The handler is done. */
  async end({ sendsLast }: { readonly sendsLast: boolean }): Promise<void> {
    this.isDropped = !sendsLast;
    this.ended.abort();
    // The verdict follows even if the checkpoint is refused.
    await this.upcoming?.sent.catch(() => undefined);
    await this.previous;
  }

  private async queue(value: unknown, awaited: AbortSignal): Promise<void> {
    this.count += 1;
    const number = this.count;
    const what = `The checkpoint of task ${this.run.lease.task_id}`;
    const json = jsonOf(value, what);
    const schema = this.run.job.definition.checkpoint;
    // Checked after a JSON round trip, as the next attempt will see it.
    if (schema !== undefined) await parseBy(schema, json.parse(), what);
    const { over } = this.run;
    if (over !== null) throw over;
    if (this.newest === null || number > this.newest.number) this.newest = { number, value: json };
    if (this.upcoming === null) {
      const hurry = new AbortController();
      this.upcoming = { sent: this.send(hurry.signal), hurry };
    }
    const { sent, hurry } = this.upcoming;
    if (awaited.aborted) hurry.abort();
    else awaited.addEventListener('abort', () => hurry.abort());
    await sent;
  }

  private async send(hurry: AbortSignal): Promise<void> {
    const { clock, timers } = this.world;
    await this.previous;
    const waitMs = this.readyAtMs - clock.monotonicMs();
    if (waitMs > 0) await sleep(timers, waitMs, this.ended.signal, hurry);
    this.upcoming = null;
    const { over } = this.run;
    if (this.isDropped && over !== null) throw over;
    this.readyAtMs = clock.monotonicMs() + INTERVAL_MS;
    const sent = this.call(this.newest!.value);
    this.previous = sent.catch(() => undefined);
    await sent;
  }

  private async call(value: Json): Promise<void> {
    const { task_id, lease_id } = this.run.lease;
    const reply = await this.transport.call('task.checkpoint', { task_id, lease_id, value });
    if (!reply.ok) throw await refusedFor(this.run, reply, this.transport);
  }
}

/** Detects that it is awaited, unlike a promise discarded with `void`. */
class Saved extends Promise<void> {
  static override readonly [Symbol.species] = Promise;
  private readonly onAwaited: () => void;

  constructor(saved: Promise<void>, onAwaited: () => void) {
    super((resolve, reject) => void saved.then(resolve, reject));
    // Handled here, so that a refused checkpoint that is not awaited does not end the process.
    super.then(undefined, () => undefined);
    this.onAwaited = onAwaited;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting it sends it at once.
  override then<A, B = never>(...calls: Parameters<Promise<void>['then']>): Promise<A | B> {
    this.onAwaited();
    return super.then(...calls) as Promise<A | B>;
  }
}

function jsonOf(value: unknown, what: string): Json {
  if (value instanceof Json) return value;
  try {
    return Json.of(value);
  } catch (cause) {
    throw invalidTask(`${what} has no JSON form.`, { cause });
  }
}
