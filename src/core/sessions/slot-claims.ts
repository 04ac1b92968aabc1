/**
 * How many slots are in use, computed from the state instead of kept in a counter: those that a session claims and
 * whose lease exists, is valid and is owned by that session. Any other claim violates an invariant, and is reported.
 */
import { sessionIdOfSeq } from '../ids.ts';
import type { Seq } from '../row-types.ts';
import type { State } from '../state.ts';
import { slotName } from './session-names.ts';

export type ClaimRule = 'duplicate_slot_claim' | 'lease_mismatch';

export interface BrokenClaim {
  readonly rule: ClaimRule;
  readonly sessionId: string;
  readonly slot: string;
  readonly leaseSeq: Seq;
}

export interface SlotClaims {
  readonly inUse: number;
  readonly violations: readonly BrokenClaim[];
}

export function slotClaims({ sessions, names }: State, nowMs: number): SlotClaims {
  const inUse = new Set<string>();
  const claimed = new Set<string>();
  const violations: BrokenClaim[] = [];
  for (const { seq, slot, leaseSeq } of sessions.open.values()) {
    if (slot === null) continue;
    const sessionId = sessionIdOfSeq(seq);
    const row = names.find(slotName(slot));
    const isValid = row !== 0 && names.isLive(row) && names.expiresAtMs.get(row) > nowMs;
    if (claimed.has(slot)) violations.push({ rule: 'duplicate_slot_claim', sessionId, slot, leaseSeq });
    claimed.add(slot);
    if (isValid && names.heldBy(row, sessionId)) inUse.add(slot);
    else violations.push({ rule: 'lease_mismatch', sessionId, slot, leaseSeq });
  }
  return { inUse: inUse.size, violations };
}
