/**
 * Grants on the way to their callers. A grant whose caller has gone by the time its answer leaves is given back at
 * once. But the caller may have asked again on another connection and be told of the same grant there, so it is given
 * back only when every answer that tells of it has left and none of them was delivered. A repeat that is decided
 * before the release calls the release off.
 *
 *   decided ─► add ─► leave ─┬─► delivered: the caller holds it
 *                            └─► not delivered: a release is queued
 */
import type { Answer, GrantedName, GrantedTask, GrantedTasks } from '../core/answers.ts';
import type { AcquireNames, Command, RenewName } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Request } from './request.ts';

type Lease = GrantedTask | GrantedName;

/** A grant of which some answer has not left, or that is being given back. */
interface PendingGrant {
  /** How many answers that tell of it have not left. */
  open: number;
  isDelivered: boolean;
  /** Its caller has gone or has asked for it again. */
  isMissed: boolean;
  release: Request | null;
}

export class GrantDelivery {
  private readonly pending = new Map<number | string, PendingGrant>();
  private readonly giveBack: (command: Command) => Request;

  constructor(giveBack: (command: Command) => Request) {
    this.giveBack = giveBack;
  }

  /** The request is decided, and will leave. */
  add(request: Request): void {
    for (const lease of leasesOf(request)) {
      const key = keyOf(lease);
      const grant = this.pending.get(key);
      if (grant !== undefined) {
        grant.open += 1;
        grant.isMissed = true;
        if (grant.release !== null) grant.release.open = false;
        grant.release = null;
      } else if (!isRepeat(request)) {
        this.pending.set(key, { open: 1, isDelivered: false, isMissed: false, release: null });
      }
    }
  }

  leave(request: Request, answer: Answer | Refusal): void {
    const { isAwaited } = request;
    if (isAwaited) request.leave(answer);
    this.left(request, isAwaited, !isAwaited);
    if (isAwaited || !request.open) return;
    // Payloads are not read for leases that are not taken.
    const isLease = request.command!.type === 'LeaseTasks';
    request.leave(isLease ? { ...(answer as GrantedTasks), leases: [] } : answer);
  }

  /** Payloads could not be read. Those leases expire: given back, the next worker would meet the same fault. */
  fail(request: Request, fault: unknown): void {
    const { isAwaited } = request;
    request.whenLeft?.();
    request.reject(fault);
    this.left(request, false, !isAwaited);
  }

  private left(request: Request, isDelivered: boolean, isMissed: boolean): void {
    for (const lease of leasesOf(request)) {
      const key = keyOf(lease);
      const grant = this.pending.get(key);
      if (grant === undefined) continue;
      grant.open -= 1;
      grant.isDelivered ||= isDelivered;
      grant.isMissed ||= isMissed;
      if (grant.open > 0) continue;
      if (grant.isDelivered || !grant.isMissed) this.pending.delete(key);
      else this.release(key, grant, releaseOf(request, lease));
    }
  }

  private release(key: number | string, grant: PendingGrant, command: Command): void {
    const release = this.giveBack(command);
    const decided = (): void => {
      if (grant.release === release) this.pending.delete(key);
    };
    grant.release = release;
    release.done!.then(decided, decided);
  }
}

const NONE: readonly Lease[] = [];

/** What it tells its caller that it holds, for the first time or again. */
function leasesOf({ command, answer }: Request): readonly Lease[] {
  const type = command?.type;
  if (type !== 'AcquireNames' && type !== 'LeaseTasks' && type !== 'RenewName') return NONE;
  if (isRefusal(answer as Answer | Refusal)) return NONE;
  return (answer as { readonly leases: readonly Lease[] }).leases;
}

/** A caller that has chosen its token can renew what it was not told of, and is told of it then. */
function isRepeat({ command, answer }: Request): boolean {
  return command!.type === 'RenewName' || (answer as { readonly duplicate: boolean }).duplicate;
}

/** Names that were granted together have one number. */
function keyOf(lease: Lease): number | string {
  return 'name' in lease ? `${lease.leaseSeq} ${lease.name}` : lease.leaseSeq;
}

function releaseOf({ command }: Request, lease: Lease): Command {
  if (!('name' in lease)) {
    const { taskId, leaseSeq } = lease;
    return { type: 'ReleaseTask', taskId, leaseSeq, delayMs: 0, isUntold: true };
  }
  const { holder, tokenHash } = command as AcquireNames | RenewName;
  return { type: 'ReleaseName', name: lease.name, holder, tokenHash };
}
