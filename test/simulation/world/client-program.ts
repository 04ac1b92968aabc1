/**
 * What a workload has in its hands: the client, chance, time, and ways to note what it relies on. Faults of the world are
 * caught here by class, so that a bug in the product or in a workload is never taken for one of them.
 */

import { LeaseLostError } from '../../../src/client/lease-loss.ts';
import type { Leasehold } from '../../../src/client/leasehold.ts';
import { LeaseholdError } from '../../../src/protocol/leasehold-error.ts';
import type { HeardEvent } from '../history.ts';
import type { ClientNode } from './client-node.ts';
import type { Random } from './random.ts';
import { instantOf, type Recorder } from './recorder.ts';
import type { SimProcess } from './sim-process.ts';

export type Program = (program: ClientProgram) => Promise<void>;

/** What the lease handles, guards and task contexts of the client have in common. */
export interface Held {
  readonly leaseSeq: number;
  readonly signal: AbortSignal;
  remaining(): number;
  assertHeld(): void;
}

export interface HeldOf {
  readonly names?: readonly string[];
  readonly task?: string;
  readonly holder: string;
  readonly isGuard?: boolean;
}

export class ClientProgram {
  readonly leasehold: Leasehold;
  readonly random: Random;
  /** Which start of this program it is; 1 for the first. */
  readonly run: number;
  readonly #node: ClientNode;
  readonly #process: SimProcess;
  readonly #recorder: Recorder;
  /** What an orchestrator is made of beside its client. */
  get node(): ClientNode {
    return this.#node;
  }

  get process(): SimProcess {
    return this.#process;
  }

  get recorder(): Recorder {
    return this.#recorder;
  }

  constructor(
    node: ClientNode,
    process: SimProcess,
    leasehold: Leasehold,
    random: Random,
    recorder: Recorder,
    run: number,
  ) {
    this.#node = node;
    this.#process = process;
    this.leasehold = leasehold;
    this.random = random;
    this.#recorder = recorder;
    this.run = run;
  }

  get client(): string {
    return this.#node.name;
  }

  /** No more faults will come. */
  get isQuiet(): boolean {
    return this.#node.isQuiet;
  }

  get roundsLeft(): number {
    return this.#node.roundsLeft;
  }

  get waiters(): number {
    return this.#node.waiters;
  }

  /** Round after round until all are done; what the world does to a round is the world's business. */
  async rounds(round: (left: number) => Promise<void>): Promise<void> {
    while (this.#node.roundsLeft > 0) {
      this.#node.roundsLeft -= 1;
      await this.bear(() => round(this.#node.roundsLeft));
    }
  }

  /** Records the next step, for the report when it is stuck. */
  doing(what: string): void {
    this.#node.doing = what;
    this.#node.doingSinceMs = this.#process.kernel.nowMs;
  }

  /** Bears the faults of the world, and nothing else; undefined when there was one. */
  async bear<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
      return undefined;
    }
  }

  sleep(lowMs: number, highMs = lowMs): Promise<void> {
    return this.#process.sleep(this.random.span(lowMs, highMs));
  }

  /** Keeps the loop busy: nothing of this process runs meanwhile. */
  async block(ms: number): Promise<void> {
    this.#recorder.note({ kind: 'blocked', client: this.client, forMs: ms });
    this.#process.block(ms);
    await new Promise<void>((resolve) => this.#process.timers.soon(resolve));
  }

  /** Notes that a handle was given out, and when it is lost. Answers the number it goes by. */
  held(lease: Held, { names = [], task, holder, isGuard = false }: HeldOf): number {
    const handle = this.#recorder.newHandle();
    const { clock } = this.#process;
    this.#recorder.note({
      kind: 'held',
      client: this.client,
      handle,
      names,
      ...(task === undefined ? {} : { task }),
      holder,
      leaseSeq: lease.leaseSeq,
      isGuard,
      now: instantOf(clock),
      remainingMs: lease.remaining(),
    });
    const lost = (): void => {
      if (this.#process.isDead) return;
      const { reason } = lease.signal;
      const cause = reason instanceof LeaseLostError ? reason.details.loss : 'other';
      this.#recorder.note({ kind: 'lost', client: this.client, handle, cause, now: instantOf(clock) });
    };
    if (lease.signal.aborted) lost();
    else lease.signal.addEventListener('abort', lost, { once: true });
    return handle;
  }

  /** Does what only the holder may do; false when the handle says that it is lost. */
  use(handle: number, lease: Held): boolean {
    try {
      lease.assertHeld();
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
      return false;
    }
    this.#recorder.note({
      kind: 'used',
      client: this.client,
      handle,
      now: instantOf(this.#process.clock),
      remainingMs: lease.remaining(),
      authority: this.#recorder.authorityNow(),
    });
    return true;
  }

  released(handle: number): void {
    this.#recorder.note({ kind: 'released', client: this.client, handle });
  }

  /** A number for a stream of entries. */
  newStream(): number {
    return this.#recorder.newBatch();
  }

  followed(stream: number, seq: number, type: string): void {
    this.#recorder.note({ kind: 'followed', client: this.client, stream, seq, type });
  }

  heard(heard: Omit<HeardEvent, 'kind' | 'client' | 'simMs'>): void {
    this.#recorder.note({ kind: 'heard', client: this.client, ...heard });
  }

  /** A promise of the product that this workload can judge by itself, as long as no acknowledged change can be gone. */
  expect(isTrue: boolean, says: string): void {
    if (!isTrue && !this.#recorder.isLossy) this.#recorder.broken(this.client, says);
  }
}
