/**
 * Answers, from their decision until they leave. A grant whose caller has gone by then is given back at once. But its
 * caller may have asked again on another connection, and be told of the same grant there: then the grant is kept while
 * any of these answers may still arrive, and given back by the last of them when all their callers have gone.
 *
 *   decided ─► add ─► take ─┬─► leave            heard: the grant is somebody's
 *                           └─► reads ─► leave   not heard: a release is queued, which a repeat in time calls off
 */
import type { Answer, Command, GrantedName, GrantedTask, GrantedTasks } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Request } from './request.ts';

/** The answers that tell of one grant. */
export interface Hearing {
  isHeard: boolean;
  /** How many of them have not left. */
  open: number;
}

type Granted = GrantedTask | GrantedName;

export class Leaving {
  private readonly settled: Request[] = [];
  /** Those whose payloads are being read. */
  private readonly reading = new Set<Request>();
  /** First answers among the settled, by the number of each lease; looked for only when something is repeated. */
  private readonly firsts = new Map<number, Request>();
  private sorted = 0;
  /** Releases of what nobody has heard of that are not decided yet, by the number of the lease. */
  private readonly returning = new Map<number, Request[]>();
  private readonly giveBack: (command: Command) => Request;

  constructor(giveBack: (command: Command) => Request) {
    this.giveBack = giveBack;
  }

  add(request: Request): void {
    this.settled.push(request);
    if (isRepeat(request)) this.noteRepeat(request);
  }

  /** All that has been decided, which is durable now. */
  take(): Request[] {
    this.firsts.clear();
    this.sorted = 0;
    return this.settled.splice(0);
  }

  reads(request: Request): void {
    this.reading.add(request);
  }

  readonly leave = (request: Request, answer: Answer | Refusal): void => {
    const { hearing, isAwaited } = request;
    if (this.reading.size > 0) this.reading.delete(request);
    if (isAwaited) request.leave(answer);
    if (hearing !== null) {
      hearing.isHeard ||= isAwaited;
      hearing.open -= 1;
      if (hearing.open === 0 && !hearing.isHeard) this.takeBack(request);
    } else if (!isAwaited && !isRepeat(request)) this.takeBack(request);
    if (isAwaited || !request.open) return;
    // Nobody has read the payloads of leases that nobody takes.
    request.leave(
      request.command!.type === 'LeaseTasks' ? { ...(answer as GrantedTasks), leases: [] } : answer,
    );
  };

  private noteRepeat(repeat: Request): void {
    for (const { leaseSeq } of leasesOf(repeat)) {
      const releases = this.returning.get(leaseSeq);
      if (releases !== undefined) {
        for (const release of releases) release.open = false;
        this.returning.delete(leaseSeq);
        repeat.hearing ??= { isHeard: false, open: 1 };
        continue;
      }
      const first = this.firstOf(leaseSeq);
      if (first === undefined || repeat.hearing !== null) continue;
      first.hearing ??= { isHeard: false, open: 1 };
      first.hearing.open += 1;
      repeat.hearing = first.hearing;
    }
  }

  private firstOf(leaseSeq: number): Request | undefined {
    for (; this.sorted < this.settled.length; this.sorted++) {
      const request = this.settled[this.sorted]!;
      if (!isRepeat(request)) for (const lease of leasesOf(request)) this.firsts.set(lease.leaseSeq, request);
    }
    const isOfIt = (request: Request): boolean =>
      leasesOf(request).some((lease) => lease.leaseSeq === leaseSeq);
    return this.firsts.get(leaseSeq) ?? [...this.reading].find(isOfIt);
  }

  private takeBack(request: Request): void {
    for (const [leaseSeq, command] of returnsOf(request)) {
      const release = this.giveBack(command);
      const releases = this.returning.get(leaseSeq);
      if (releases === undefined) this.returning.set(leaseSeq, [release]);
      else releases.push(release);
      const decided = (): void => {
        this.returning.delete(leaseSeq);
      };
      release.done!.then(decided, decided);
    }
  }
}

const NONE: readonly Granted[] = [];

/** What was granted, for the first time or again. */
function leasesOf({ command, answer }: Request): readonly Granted[] {
  const isGrant = command?.type === 'AcquireNames' || command?.type === 'LeaseTasks';
  if (!isGrant || isRefusal(answer as Answer | Refusal)) return NONE;
  return (answer as { readonly leases: readonly Granted[] }).leases;
}

function isRepeat(request: Request): boolean {
  return leasesOf(request) !== NONE && (request.answer as { readonly duplicate: boolean }).duplicate;
}

/** What gives back a grant, by the number of each lease. */
function returnsOf(request: Request): (readonly [leaseSeq: number, command: Command])[] {
  const command = request.command!;
  return leasesOf(request).map((lease) => {
    const { leaseSeq } = lease;
    if (command.type === 'AcquireNames') {
      const { holder, tokenHash } = command;
      const { name } = lease as GrantedName;
      return [leaseSeq, { type: 'ReleaseName', name, holder, tokenHash }];
    }
    const { taskId } = lease as GrantedTask;
    return [leaseSeq, { type: 'ReleaseTask', taskId, leaseSeq, delayMs: 0 }];
  });
}
