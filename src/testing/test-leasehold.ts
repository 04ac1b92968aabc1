/**
 * A whole leasehold in memory for users' own tests. It writes nothing, time passes only when the test advances it,
 * ids are sequential, and leases, replies and calls are lost when the test says so.
 */
import { type Duration, durationMs } from '../client/durations.ts';
import { Leasehold } from '../client/leasehold.ts';
import { transientEffect } from '../client/reply-text.ts';
import { refuseUnknown } from '../client/unknown-options.ts';
import type { DrainSignal } from '../client/world.ts';
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { type OpenOptions, openCore } from '../open.ts';
import { openCalls } from '../operations/calls.ts';
import { localTransport } from '../operations/local-transport.ts';
import { OPERATIONS, type Operation } from '../operations/table.ts';
import { type ErrorCode, LeaseholdError } from '../protocol/leasehold-error.ts';
import { problem } from '../protocol/problem.ts';
import { FaultyTransport } from './faulty-transport.ts';
import { loseLease, type TestLoss } from './lose-lease.ts';
import { type Exit, TestWorld } from './test-world.ts';

export type TestOptions = Pick<OpenOptions, 'retention'>;

export interface FailOptions {
  /** UNREACHABLE by default. */
  readonly code?: ErrorCode;
  readonly message?: string;
  /** For thrown errors; true by default. A refusal is retryable according to its code. */
  readonly retryable?: boolean;
}

const FAIL_OPTIONS = ['code', 'message', 'retryable'];

/** Refuses unknown operations: a fault planned for one would never happen, and the test would pass without testing anything. */
function assertKnown(operation: Operation | undefined): void {
  if (operation === undefined || Object.hasOwn(OPERATIONS, operation)) return;
  throw new TypeError(`There is no operation ${JSON.stringify(operation)}; an example is task.create.`);
}

/** Whether a caller gets this code as a value, and not as a thrown fault of the server. */
function isAnswer(code: ErrorCode): code is RefusalCode {
  if (!Object.hasOwn(REFUSALS, code) || transientEffect({ code }) !== null) return false;
  return REFUSALS[code as RefusalCode].status < 500 || code === 'DISK_FULL';
}

export async function testLeasehold(options: TestOptions = {}): Promise<TestLeasehold> {
  const world = new TestWorld();
  const { authority, calls } = await openCore(memoryEngine(), world, options);
  const transport = new FaultyTransport(
    localTransport(authority, openCalls(calls), world.timers),
    world.newToken,
  );
  return new TestLeasehold(world, transport);
}

export class TestLeasehold implements AsyncDisposable {
  /** The full handle, as `open` and `connect` return it. */
  readonly lh: Leasehold;
  readonly #world: TestWorld;
  readonly #transport: FaultyTransport;

  constructor(world: TestWorld, transport: FaultyTransport) {
    this.#world = world;
    this.#transport = transport;
    this.lh = new Leasehold(transport, world);
  }

  /** Milliseconds since 1970 in this world, which starts in 2026. */
  now(): number {
    return this.#world.wallMs;
  }

  /** Advances time, timer by timer. Between two timers everything that is ready runs. */
  advance(duration: Duration): Promise<void> {
    return this.#world.advance(durationMs(duration));
  }

  /** Runs everything that is ready without advancing time. */
  settle(): Promise<void> {
    return this.#world.settle();
  }

  /** Resolves when this much time has passed; for slow handlers. */
  sleep(duration: Duration): Promise<void> {
    return new Promise((resolve) => {
      this.#world.timers.after(durationMs(duration), resolve);
    });
  }

  /**
   * Takes the lease on a name or a task from its holder. A name is `broken` by default; its holder learns of it with
   * its next renewal, so advance time. A task's lease is `expired` by default, which advances time by itself; meanwhile
   * calls of its holder do not arrive.
   */
  loseLease(nameOrTaskId: string, loss?: TestLoss): Promise<void> {
    return loseLease(this.#transport, this.#world, nameOrTaskId, loss);
  }

  /**
   * The next call of this operation, or of any, is executed and its reply lost; the client reacts as over a network.
   */
  dropReply(operation?: Operation): void {
    assertKnown(operation);
    this.#transport.dropReply(operation ?? null);
  }

  /**
   * The next call of this operation, or of any, fails without being executed. With a code that is an answer of the
   * authority, such as LEASE_HELD, the call is refused; with any other code it throws.
   */
  failNext(operation?: Operation, options: FailOptions = {}): void {
    assertKnown(operation);
    refuseUnknown(options, FAIL_OPTIONS, 'failNext');
    const { code = 'UNREACHABLE', message = 'The test made this call fail.' } = options;
    const failure = isAnswer(code)
      ? problem({ refused: code, detail: message })
      : new LeaseholdError(code, message, { retryable: options.retryable ?? true });
    this.#transport.failNext(operation ?? null, failure);
  }

  /** Simulates SIGTERM or SIGINT: workers drain. */
  terminate(signal: DrainSignal = 'SIGTERM'): void {
    this.#world.terminate(signal);
  }

  /** The faults of workers without an `onFault`, which would otherwise be written to stderr. */
  get faults(): readonly unknown[] {
    return this.#world.faults;
  }

  /** How often a lost guard would have ended the process, and with which message. */
  get exits(): readonly Exit[] {
    return this.#world.exits;
  }

  close(): Promise<void> {
    return this.lh.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
