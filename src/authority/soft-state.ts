/**
 * State that is not in the log and starts empty: contacts of workers, heartbeats of sessions, subscriptions of holders,
 * receipts of refused writes, and recent incidents. No decision depends on it.
 */
import type { Answer, GrantedNames } from '../core/answers.ts';
import type { Command } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Feed } from './feed.ts';
import { Holders } from './holders.ts';
import { Incidents } from './incidents.ts';
import { Receipts } from './receipts.ts';
import { SessionBeats } from './sessions/session-beats.ts';
import { Workers } from './workers.ts';

export class SoftState {
  readonly incidents = new Incidents();
  readonly receipts = new Receipts();
  readonly workers = new Workers();
  readonly sessions = new SessionBeats();
  readonly holders: Holders;

  constructor(feed: Feed) {
    this.holders = new Holders(feed);
  }

  note(command: Command, answer: Answer | Refusal | null, requestId: string | null, nowMs: number): void {
    if (command.type === 'LeaseTasks') {
      this.workers.note(command.workerId, nowMs, command.queues);
    } else if (command.type === 'Heartbeat') {
      this.workers.note(command.workerId, nowMs);
    } else if (command.type === 'RenewName') {
      if (!command.isLast || answer === null || isRefusal(answer)) return;
      for (const { leaseSeq } of (answer as GrantedNames).leases) this.incidents.expectEnd(leaseSeq);
    } else if (command.type === 'HeartbeatSession') {
      if (answer !== null && !isRefusal(answer)) this.sessions.note(command.sessionId, nowMs);
    } else if (answer !== null && isRefusal(answer) && answer.fence !== undefined) {
      if (command.type === 'WriteObject' || command.type === 'DeleteObject') {
        const { objectId, lease } = command;
        this.receipts.add(answer.refused, objectId, lease, answer.fence, nowMs, requestId);
      } else if (command.type === 'CompleteTask') {
        const { objectId, lease } = command.writes[answer.index!]!;
        this.receipts.add(answer.refused, objectId, lease, answer.fence, nowMs, requestId);
      }
    }
  }
}
