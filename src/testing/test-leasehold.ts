/**
 * A whole leasehold in memory for the users' own tests. Nothing is written anywhere, no time passes but what the
 * test lets pass, ids come in order, and leases, replies and calls are lost when the test says so.
 */
import { type Duration, durationMs } from '../client/durations.ts';
import { type ErrorCode, LeaseholdError } from '../client/error.ts';
import { Leasehold } from '../client/leasehold.ts';
import { momentaryEffect } from '../client/reply-text.ts';
import { refuseUnknown } from '../client/unknown-options.ts';
import type { DrainSignal } from '../client/world.ts';
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { type OpenOptions, openCore } from '../open.ts';
import { openCalls } from '../operations/calls.ts';
import { localTransport } from '../operations/local-transport.ts';
import { OPERATIONS, type Operation } from '../operations/table.ts';
import { problem } from '../protocol/problem.ts';
import { FaultyTransport } from './faulty-transport.ts';
import { loseLease, type TestLoss } from './lose-lease.ts';
import { type Exit, TestWorld } from './test-world.ts';

export type TestOptions = Pick<OpenOptions, 'retention'>;

export interface FailOptions {
  /** UNREACHABLE unless told. */
  readonly code?: ErrorCode;
  readonly message?: string;
  /** Of what is thrown; true unless told. Whether a refusal may pass is said by its code. */
  readonly retryable?: boolean;
}

const FAIL_OPTIONS = ['code', 'message', 'retryable'];

/** What waits for an operation that never comes would make a test pass that tests nothing. */
function assertKnown(operation: Operation | undefined): void {
  if (operation === undefined || Object.hasOwn(OPERATIONS, operation)) return;
  throw new TypeError(
    `There is no operation ${JSON.stringify(operation)}; one is called task.create, for example.`,
  );
}

/** Whether a caller gets this code as a value: not what concerns the server's moment, or says that it failed. */
function isAnswer(code: ErrorCode): code is RefusalCode {
  if (!Object.hasOwn(REFUSALS, code) || momentaryEffect({ code }) !== null) return false;
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
  /** The full handle, as `open` and `connect` give it. */
  readonly lh: Leasehold;
  readonly #world: TestWorld;
  readonly #transport: FaultyTransport;

  constructor(world: TestWorld, transport: FaultyTransport) {
    this.#world = world;
    this.#transport = transport;
    this.lh = new Leasehold(transport, world);
  }

  /** Milliseconds since 1970 in this world; a test begins with the year 2026. */
  now(): number {
    return this.#world.wallMs;
  }

  /** Lets time pass, timer by timer; between two of them everything runs that is ready to run. */
  advance(duration: Duration): Promise<void> {
    return this.#world.advance(durationMs(duration));
  }

  /** Lets everything run that is ready to run, without any time passing. */
  settle(): Promise<void> {
    return this.#world.settle();
  }

  /** Resolves once that much time has been let pass: for handlers that take their time. */
  sleep(duration: Duration): Promise<void> {
    return new Promise((resolve) => {
      this.#world.timers.after(durationMs(duration), resolve);
    });
  }

  /**
   * Takes away the lease on a name or a task. A name is `broken` unless told; its holder hears of it with its next
   * renewal, so let time pass. A task's lease is `expired` unless told, which lets that time pass.
   */
  loseLease(nameOrTaskId: string, loss?: TestLoss): Promise<void> {
    return loseLease(this.#transport, this.#world, nameOrTaskId, loss);
  }

  /** The next call of this operation, or of any, is carried out and its reply lost; the client does what it does then. */
  dropReply(operation?: Operation): void {
    assertKnown(operation);
    this.#transport.dropReply(operation ?? null);
  }

  /**
   * The next call of this operation, or of any, fails before anything happens, as it would for real: with a code that is
   * an answer of the authority, such as LEASE_HELD, it is refused, and with any other it throws.
   */
  failNext(operation?: Operation, options: FailOptions = {}): void {
    assertKnown(operation);
    refuseUnknown(options, FAIL_OPTIONS, 'failNext');
    const { code = 'UNREACHABLE', message = 'The call failed because a test wanted it to.' } = options;
    const failure = isAnswer(code)
      ? problem({ refused: code, detail: message })
      : new LeaseholdError(code, message, { retryable: options.retryable ?? true });
    this.#transport.failNext(operation ?? null, failure);
  }

  /** What SIGTERM, or SIGINT, does to a program: its workers drain. */
  terminate(signal: DrainSignal = 'SIGTERM'): void {
    this.#world.terminate(signal);
  }

  /** What would have been written to stderr: why workers without an `onFault` could not go on. */
  get faults(): readonly unknown[] {
    return this.#world.faults;
  }

  /** How often a lost guard would have ended the process, and with what words. */
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
