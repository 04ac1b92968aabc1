/**
 * Answers, from their decision until they leave. A grant whose caller has gone by then is given back at once. But its
 * caller may have asked again on another connection, and be told of the same grant there: then what any of these answers
 * tells somebody is kept, and the last of them to leave gives back the rest.
 *
 *   decided ─► add ─► take ─┬─► leave            heard: the grant is somebody's
 *                           └─► reads ─► leave   not heard: a release is queued, which a repeat in time calls off
 */
import type {
  AcquireNames,
  Answer,
  Command,
  GrantedName,
  GrantedTask,
  GrantedTasks,
  LeaseTasks,
  RenewName,
} from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Seq } from '../core/row-types.ts';
import type { Request } from './request.ts';

/** The answers that tell of one grant. */
export interface Hearing {
  /** What has to be given back unless somebody is told of it: granted by one of these answers, or called off for one. */
  readonly owed: Map<string, { readonly leaseSeq: Seq; readonly command: Command }>;
  /** The names and tasks that somebody was told of. */
  readonly heard: Set<string>;
  /** How many of them have not left. */
  open: number;
}

type Granted = GrantedTask | GrantedName;

export class Leaving {
  private settled: Request[] = [];
  /** Those whose payloads are being read. */
  private readonly reading = new Set<Request>();
  /** Settled answers that may have to give a grant back, by its number; sought only when something is repeated. */
  private readonly firsts = new Map<number, Request>();
  private sorted = 0;
  /** Releases of what nobody has heard of that are not decided yet, by the name or task. */
  private readonly returning = new Map<string, { readonly leaseSeq: Seq; readonly release: Request }>();
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
    const { settled } = this;
    this.settled = [];
    this.firsts.clear();
    this.sorted = 0;
    return settled;
  }

  reads(request: Request): void {
    this.reading.add(request);
  }

  leave(request: Request, answer: Answer | Refusal): void {
    const { isAwaited } = request;
    if (isAwaited) request.leave(answer);
    this.left(request, isAwaited);
    if (isAwaited || !request.open) return;
    // Nobody has read the payloads of leases that nobody takes.
    const isLease = request.command!.type === 'LeaseTasks';
    request.leave(isLease ? { ...(answer as GrantedTasks), leases: [] } : answer);
  }

  /**
   * What it tells could not be read. Its leases run out, or the next one would stumble over the same, unless its caller has
   * gone or it was the last that might have told of them.
   */
  failed(request: Request, fault: unknown): void {
    const { isAwaited } = request;
    request.whenLeft?.();
    request.reject(fault);
    if (request.hearing === null && isAwaited) this.reading.delete(request);
    else this.left(request, false);
  }

  private left(request: Request, isHeard: boolean): void {
    const { hearing } = request;
    if (this.reading.size > 0) this.reading.delete(request);
    if (hearing === null) {
      if (!isHeard && !isRepeat(request)) this.takeBack(firstHearing(request));
      return;
    }
    if (isHeard) for (const lease of leasesOf(request)) hearing.heard.add(subjectOf(lease));
    hearing.open -= 1;
    if (hearing.open === 0) this.takeBack(hearing);
  }

  private noteRepeat(repeat: Request): void {
    const first = this.firstOf(repeat);
    if (first !== undefined) {
      first.hearing ??= firstHearing(first);
      repeat.hearing = first.hearing;
      repeat.hearing.open += 1;
    }
    if (this.returning.size === 0) return;
    for (const lease of leasesOf(repeat)) {
      const subject = subjectOf(lease);
      const returning = this.returning.get(subject);
      if (returning?.leaseSeq !== lease.leaseSeq) continue;
      returning.release.open = false;
      this.returning.delete(subject);
      repeat.hearing ??= newHearing();
      owe(repeat.hearing, repeat, lease);
      this.firsts.set(lease.leaseSeq, repeat);
    }
  }

  /** An answer that has not left, and without which nobody might have heard of what this one repeats. */
  private firstOf(repeat: Request): Request | undefined {
    for (; this.sorted < this.settled.length; this.sorted++) {
      const request = this.settled[this.sorted]!;
      if (isRepeat(request)) continue;
      for (const { leaseSeq } of leasesOf(request)) this.firsts.set(leaseSeq, request);
    }
    for (const { leaseSeq } of leasesOf(repeat)) {
      const first = this.firsts.get(leaseSeq);
      if (first !== undefined) return first;
    }
    if (repeat.command!.type !== 'LeaseTasks') return undefined;
    for (const request of this.reading) if (isFirstOf(request, repeat)) return request;
    return undefined;
  }

  private takeBack({ owed, heard }: Hearing): void {
    for (const [subject, { leaseSeq, command }] of owed) {
      if (heard.has(subject)) continue;
      const release = this.giveBack(command);
      this.returning.set(subject, { leaseSeq, release });
      const decided = (): void => {
        if (this.returning.get(subject)?.release === release) this.returning.delete(subject);
      };
      release.done!.then(decided, decided);
    }
  }
}

function newHearing(): Hearing {
  return { owed: new Map(), heard: new Set(), open: 1 };
}

/** Of the one that tells of a grant for the first time, which owes all of it. */
function firstHearing(request: Request): Hearing {
  const hearing = newHearing();
  for (const lease of leasesOf(request)) owe(hearing, request, lease);
  return hearing;
}

function owe({ owed }: Hearing, request: Request, lease: Granted): void {
  owed.set(subjectOf(lease), { leaseSeq: lease.leaseSeq, command: releaseOf(request, lease) });
}

const NONE: readonly Granted[] = [];

/** What it tells its caller that it holds, for the first time or again. */
function leasesOf({ command, answer }: Request): readonly Granted[] {
  if (!tells(command) || isRefusal(answer as Answer | Refusal)) return NONE;
  return (answer as { readonly leases: readonly Granted[] }).leases;
}

function tells(command: Command | null): boolean {
  return command?.type === 'AcquireNames' || command?.type === 'LeaseTasks' || command?.type === 'RenewName';
}

/** Who has chosen its token can renew what it was not told of, and is told of it then. */
function isRepeat(request: Request): boolean {
  if (leasesOf(request) === NONE) return false;
  const { duplicate } = request.answer as { readonly duplicate: boolean };
  return duplicate || request.command!.type === 'RenewName';
}

/** Both are leases of tasks. A repeat of what was heard of long ago has nothing to give back. */
function isFirstOf(request: Request, repeat: Request): boolean {
  if (request.hearing === null && isRepeat(request)) return false;
  const first = request.command as LeaseTasks;
  const again = repeat.command as LeaseTasks;
  if (first.workerId !== again.workerId || first.requestId !== again.requestId) return false;
  // The same wish may have been granted before, and that grant be over.
  const repeated = new Set(leasesOf(repeat).map(({ leaseSeq }) => leaseSeq));
  return leasesOf(request).some(({ leaseSeq }) => repeated.has(leaseSeq));
}

function subjectOf(lease: Granted): string {
  return 'name' in lease ? `n${lease.name}` : `t${lease.taskId}`;
}

function releaseOf({ command }: Request, lease: Granted): Command {
  if (!('name' in lease)) {
    const { taskId, leaseSeq } = lease;
    return { type: 'ReleaseTask', taskId, leaseSeq, delayMs: 0, isUntold: true };
  }
  const { holder, tokenHash } = command as AcquireNames | RenewName;
  return { type: 'ReleaseName', name: lease.name, holder, tokenHash };
}
