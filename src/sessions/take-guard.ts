/**
 * Takes the guard or throws a `FatalError`. Anything but a clear yes is a no. A held guard is taken over only from a
 * process that is provably dead, by one conditional change that names the grant it supersedes; of two concurrent
 * attempts one is refused.
 *
 *   acquire ─▶ granted
 *      └─ held ─▶ look ─▶ free by then: acquire again
 *                   ├─ its process is dead ─▶ acquire, superseding that grant ─▶ granted, or fatal
 *                   └─ otherwise: fatal, naming the holder
 */

import { ORCHESTRATOR_GUARD as GUARD } from '../core/reserved-names.ts';
import { atMost } from '../keeper/at-most.ts';
import type { Body } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import { type Moment, momentOf } from '../seams/deadline.ts';
import type { ProcessIdentity } from '../seams/process-table.ts';
import { isProvablyDead } from './process-identity.ts';
import { FatalError, type OrchestratorWorld } from './world.ts';

/** How often a guard that was free at the look is retried before it counts as held. */
const ROUNDS = 3;
/** A holder has at most 256 bytes. */
const HOST_MAX = 64;

export interface GuardTerms {
  readonly holder: string;
  readonly token: string;
  readonly leaseSeq: number;
  /** It was held by another process before. */
  readonly isTakenOver: boolean;
  /** Before the request that acquired it was sent, and its remaining time then. */
  readonly sent: Moment;
  readonly lastsMs: number;
}

/** Runs the steps of start-up, each within what is left of the total time. */
export class StartUp {
  private readonly world: OrchestratorWorld;
  private readonly untilMs: number;
  /** Fails the current step. Later ones never start. */
  fail: (fault: FatalError) => void = () => undefined;
  private readonly failed: Promise<never>;
  private hasFailed = false;

  constructor(world: OrchestratorWorld, startMs: number) {
    this.world = world;
    this.untilMs = world.clock.monotonicMs() + startMs;
    this.failed = new Promise((_, reject) => {
      this.fail = (fault) => {
        this.hasFailed = true;
        reject(fault);
      };
    });
    // It may fail between two steps, when no step is waiting.
    this.failed.catch(() => undefined);
  }

  /** The body or the refusal. A failing or slow server is fatal. */
  async step<T extends object>(what: string, call: () => Promise<T>): Promise<T> {
    const { clock, timers } = this.world;
    if (this.hasFailed) await this.failed;
    let reply: T | undefined;
    try {
      const leftMs = Math.max(0, this.untilMs - clock.monotonicMs());
      reply = await Promise.race([atMost(timers, leftMs, call()), this.failed]);
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
      throw new FatalError(`${what} failed (${fault.code}: ${fault.message})`);
    }
    if (reply === undefined) throw new FatalError(`${what} failed (the server did not answer in time)`);
    return reply;
  }
}

export async function takeGuard(
  world: OrchestratorWorld,
  startUp: StartUp,
  ttlMs: number,
): Promise<GuardTerms> {
  const { processTable, newToken, client } = world;
  const self = await processTable.self();
  const { pid } = processTable;
  const hostname = processTable.hostname.slice(0, HOST_MAX);
  const holder = `${hostname}:${pid}:${newToken().slice(-12)}`;
  const token = newToken();
  const metadata = self ?? { pid, hostname: processTable.hostname };
  const acquire = async (supersedes?: number): Promise<GuardTerms | Problem> => {
    const sent = momentOf(world.clock);
    const reply = await startUp.step('Taking the guard', () =>
      client.call('lease.acquire', {
        name: GUARD,
        holder,
        token,
        ttl_ms: ttlMs,
        metadata,
        ...(supersedes === undefined ? {} : { supersedes }),
      }),
    );
    if (!reply.ok) return reply;
    const isTakenOver = supersedes !== undefined;
    return { holder, token, leaseSeq: reply.lease_seq, isTakenOver, sent, lastsMs: reply.remaining_ms };
  };
  let refusal: Problem | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const taken = await acquire();
    if (!('ok' in taken)) return taken;
    if (taken.code !== 'LEASE_HELD') throw fatalRefusal(taken);
    refusal = taken;
    const found = await startUp.step('Reading the holder of the guard', () =>
      client.call('lease.get', { name: GUARD }),
    );
    if (!found.ok && found.code === 'LEASE_NOT_FOUND') continue;
    if (!found.ok) throw fatalRefusal(found);
    const note = noteOf(found.metadata);
    if (!(await isProvablyDead(note, self, processTable))) throw heldBy(found, note);
    world.say('warn', 'the guard is taken over from a dead process', { holder: found.holder });
    const superseded = await acquire(found.lease_seq);
    if (!('ok' in superseded)) return superseded;
    // It has just expired and is free.
    if (superseded.code === 'LEASE_NOT_FOUND') continue;
    if (superseded.code !== 'LEASE_HELD' && superseded.code !== 'LEASE_NOT_CURRENT') {
      throw fatalRefusal(superseded);
    }
    throw new FatalError(`the guard ${GUARD} was taken by ${superseded.holder ?? 'another process'} first`);
  }
  throw new FatalError(`the guard ${GUARD} is held by ${refusal?.holder ?? 'another process'}`);
}

function heldBy({ holder, remaining_ms }: Body<'lease.get'>, metadata: Partial<ProcessIdentity>): FatalError {
  const { pid, hostname } = metadata;
  const who = pid === undefined || hostname === undefined ? '' : ` (process ${pid} on ${hostname})`;
  return new FatalError(
    `the guard ${GUARD} is held by ${holder}${who} for another ${remaining_ms} ms unless it is renewed`,
  );
}

export function fatalRefusal({ code, detail, holder }: Problem): FatalError {
  const who = holder === undefined ? '' : `, held by ${holder}`;
  return new FatalError(`the guard ${GUARD}${who} was refused (${code}: ${detail})`);
}

/** The metadata of the guard may be anything. */
function noteOf(metadata: unknown): Partial<ProcessIdentity> {
  return Object(metadata instanceof Json ? metadata.parse() : metadata) as Partial<ProcessIdentity>;
}
