// Clients of one authority in this process: a log in memory, a clock that is moved by hand, and for each client a wire of
// its own that can be cut, held up or made to lose a reply. Calls are counted, so that tests can see what was sent.

import { Leasehold } from '../../src/client/leasehold.ts';
import { recoverLostReply } from '../../src/client/lost-replies.ts';
import { retryOf } from '../../src/client/retries.ts';
import type { Transport, TransportOptions } from '../../src/client/transport.ts';
import type { ClientWorld } from '../../src/client/world.ts';
import { MemoryDisk } from '../../src/engines/memory/memory-disk.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { openCore } from '../../src/open.ts';
import { openCalls } from '../../src/operations/calls.ts';
import { localTransport } from '../../src/operations/local-transport.ts';
import type { Body, Operation, Requests } from '../../src/operations/table.ts';
import { type Effect, LeaseholdError } from '../../src/protocol/leasehold-error.ts';
import { problem, type Reply } from '../../src/protocol/problem.ts';
import { HeldEngine } from './held-engine.ts';
import type { ManualWorld } from './manual-world.ts';

export interface Sent {
  readonly operation: Operation;
  readonly request: Readonly<Record<string, unknown>>;
  readonly options: TransportOptions | undefined;
}

/**
 * What becomes of a call: it passes, it arrives only when it is let go, it fails before it arrives, it is refused for
 * overload, it is answered by what is no server of ours, it is never answered, its reply is lost, or its reply is lost
 * and it is sent again, as a transport may do by itself. When the connection breaks
 * with it, the server gives back what it had granted before that.
 */
type Fate = 'passes' | 'lingers' | 'fails' | 'refuses' | 'garbles' | 'hangs' | 'loses' | 'repeats' | 'breaks';

export class TestWire implements Transport {
  // Private fields of the language: what a test remembers must not show where it looks for leaks.
  readonly #sent: Sent[] = [];
  readonly #transport: Transport;
  private rules: { readonly operation: Operation | null; fate: Fate; left: number }[] = [];
  private held: (() => void)[] = [];
  private holding: Operation | 'all' | null = null;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** From now on, so many times, calls of this operation, or of any. */
  let(operation: Operation | null, fate: Fate, times = Number.POSITIVE_INFINITY): void {
    this.rules = this.rules.filter((rule) => rule.operation !== operation);
    this.rules.push({ operation, fate, left: times });
  }

  mend(): void {
    this.rules = [];
  }

  /** Replies that come from now on, to this operation or to all, wait until they are let go. */
  hold(operation: Operation | 'all' = 'all'): void {
    this.holding = operation;
  }

  letGo(): void {
    this.holding = null;
    for (const go of this.held.splice(0)) go();
  }

  get sent(): readonly Sent[] {
    return this.#sent;
  }

  count(operation: Operation): number {
    return this.#sent.filter((each) => each.operation === operation).length;
  }

  async call<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    options?: TransportOptions,
  ): Promise<Reply<Body<Op>>> {
    this.#sent.push({ operation, request, options });
    const fate = this.fateOf(operation);
    if (fate === 'fails') throw unreachable('none');
    if (fate === 'refuses') return problem({ refused: 'OVERLOADED' });
    if (fate === 'garbles') throw new LeaseholdError('PROTOCOL', 'This is no leasehold server.');
    if (fate === 'hangs') {
      return new Promise((_, reject) => {
        options?.signal?.addEventListener('abort', () => reject(options.signal!.reason));
      });
    }
    if (fate === 'lingers') await new Promise<void>((resolve) => this.held.push(resolve));
    let reply = await this.#transport.call(operation, request, options);
    if (fate === 'loses') throw unreachable('unknown');
    if (fate === 'breaks') {
      const { name, holder, token } = request as Requests['lease.release'];
      await this.#transport.call('lease.release', { name, holder, token });
    }
    if (fate === 'repeats' || fate === 'breaks') {
      reply = await this.#transport.call(operation, request, options);
      if (!reply.ok && retryOf(operation)?.looks) {
        const ask: Transport['call'] = (...call) => this.#transport.call(...call);
        reply = (await recoverLostReply(ask, operation, request, reply)) as Reply<Body<Op>>;
      }
    }
    if (this.holding === 'all' || this.holding === operation) {
      await new Promise<void>((resolve) => this.held.push(resolve));
    }
    return reply;
  }

  private fateOf(operation: Operation): Fate {
    const rule = this.rules.find((each) => each.operation === operation || each.operation === null);
    if (rule === undefined || rule.left <= 0) return 'passes';
    rule.left -= 1;
    return rule.fate;
  }

  log: Transport['log'] = (request) => this.#transport.log(request);
  follow: Transport['follow'] = (fromSeq, signal, only) => this.#transport.follow(fromSeq, signal, only);
  close: Transport['close'] = () => this.#transport.close();
}

function unreachable(effect: Effect): LeaseholdError {
  return new LeaseholdError('UNREACHABLE', 'The wire is cut.', { retryable: true, effect });
}

export interface Stage {
  readonly engine: HeldEngine;
  /** Another client of the same authority, on a wire of its own. */
  client(world?: ClientWorld): { readonly lh: Leasehold; readonly wire: TestWire };
  /** The types of everything in the log, from the first. */
  entries(): Promise<string[]>;
}

export async function openStage(world: ManualWorld): Promise<Stage> {
  const engine = new HeldEngine(memoryEngine(new MemoryDisk()));
  const { authority, calls } = await world.finish(openCore(engine, world));
  const transport = localTransport(authority, openCalls(calls), world.timers);
  return {
    engine,
    client(of = world) {
      const wire = new TestWire(transport);
      return { lh: new Leasehold(wire, of), wire };
    },
    async entries() {
      const listing = await world.finish(transport.log({ from: 1, limit: 1_000 }));
      if (!listing.ok) throw new Error(listing.detail);
      return listing.entries.map(({ type }) => type);
    },
  };
}
