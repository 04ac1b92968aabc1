/**
 * Grants whose answers are not sent yet. A grant whose caller has gone by the time its answer is sent is released at
 * once. But the caller may have repeated the request on another connection and get the same grant there, so it is
 * released only when every answer that contains it was sent and none of them was delivered. A repeat that is decided
 * before the release cancels the release.
 *
 *   decided ─► add ─► deliver ─┬─► delivered: the caller holds it
 *                              └─► not delivered: a release is queued
 */
import type { Answer, GrantedName, GrantedTask, GrantedTasks } from '../core/answers.ts';
import type { AcquireNames, Command, RenewName } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Request } from './request.ts';

type Lease = GrantedTask | GrantedName;

/** A grant with unsent answers, or one that is being released. */
interface PendingGrant {
  /** How many answers that contain it were not sent yet. */
  open: number;
  isDelivered: boolean;
  /** Its caller has gone or has repeated the request. */
  isMissed: boolean;
  release: Request | null;
}

export class GrantDelivery {
  private readonly pending = new Map<number | string, PendingGrant>();
  private readonly giveBack: (command: Command) => Request;

  constructor(giveBack: (command: Command) => Request) {
    this.giveBack = giveBack;
  }

  /** The request is decided; its answer will be sent. */
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

  deliver(request: Request, answer: Answer | Refusal): void {
    const { isAwaited } = request;
    if (isAwaited) request.send(answer);
    this.settleGrants(request, isAwaited, !isAwaited);
    if (isAwaited || !request.open) return;
    // Payloads are not read for leases that are not taken.
    const isLease = request.command!.type === 'LeaseTasks';
    request.send(isLease ? { ...(answer as GrantedTasks), leases: [] } : answer);
  }

  /** Payloads could not be read. Those leases expire: if they were released, the next worker would get the same fault. */
  fail(request: Request, fault: unknown): void {
    const { isAwaited } = request;
    request.onSent?.();
    request.reject(fault);
    this.settleGrants(request, false, !isAwaited);
  }

  private settleGrants(request: Request, isDelivered: boolean, isMissed: boolean): void {
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

/** The leases in the answer, granted now or repeated. */
function leasesOf({ command, answer }: Request): readonly Lease[] {
  const type = command?.type;
  if (type !== 'AcquireNames' && type !== 'LeaseTasks' && type !== 'RenewName') return NONE;
  if (isRefusal(answer as Answer | Refusal)) return NONE;
  return (answer as { readonly leases: readonly Lease[] }).leases;
}

/** A caller that has chosen its token can renew a grant whose answer it never got; the renewal then delivers the grant. */
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
    return { type: 'ReleaseTask', taskId, leaseSeq, delayMs: 0, isUndelivered: true };
  }
  const { holder, tokenHash } = command as AcquireNames | RenewName;
  return { type: 'ReleaseName', name: lease.name, holder, tokenHash };
}
