/**
 * Named leases. Expired leases are written as expired before any of these rules runs, so a live lease in
 * the state has not expired. Waiting is in `lines.ts`; these rules only decide whether a name is free for
 * this caller.
 */

import type { Broken, GrantedName, GrantedNames, Released, Wiped } from './answers.ts';
import { rowsToWipe } from './apply-names.ts';
import type { AcquireNames, BreakName, Guard, ReleaseName, RenewName, WipeNames } from './commands.ts';
import { append, type Decision, isRefusal, refuse, unchanged } from './decision.ts';
import type { Entry } from './entries.ts';
import type { Refusal } from './refusals.ts';
import { GUARD_PREFIX, ORCHESTRATOR_GUARD } from './reserved-names.ts';
import type { NameRow, Seq } from './row-types.ts';
import type { State } from './state.ts';

/** All of the names or none, in one entry. `LEASE_HELD` is the one refusal that waiting can cure. */
export function acquireNames(state: State, command: AcquireNames, nowMs: number): Decision<GrantedNames> {
  const { names } = state;
  const { holder, tokenHash } = command;
  let repeated = 0;
  let leaseSeq = 0;
  let inTheWay: NameRow | 0 = 0;
  for (const name of command.names) {
    const row = names.find(name);
    if (row === 0) continue;
    const isLive = names.isLive(row);
    const isOwn = isLive && names.heldBy(row, holder);
    if (isLive && !isOwn && inTheWay === 0) inTheWay = row;
    if (names.tokens.matches(row, tokenHash)) {
      if (!isOwn) {
        const whose = names.heldBy(row, holder) ? 'is over' : "is not the caller's";
        return refuse('LEASE_NOT_HELD', { detail: `The token belongs to a grant that ${whose}.` });
      }
      if (repeated > 0 && names.leaseSeq.get(row) !== leaseSeq) return tokenOfOthers();
      leaseSeq = names.leaseSeq.get(row);
      repeated += 1;
    } else if (names.tokens.isPast(row, tokenHash)) {
      return refuse('LEASE_NOT_HELD', { detail: 'The token belongs to an earlier grant.' });
    } else if (isOwn && !command.isAdmin && name.startsWith(GUARD_PREFIX)) {
      return refuse('FORBIDDEN', { detail: guardIsHeld(name) });
    }
  }
  // The same holder repeats its token: the reply was lost, so it gets the same grant again.
  if (repeated === command.names.length) {
    return unchanged({ ...grantOf(state, command, nowMs), duplicate: true });
  }
  // A token is the secret of one grant. A second grant under it could not be told apart from the first.
  if (repeated > 0) return tokenOfOthers();
  if (command.supersedes !== undefined) return supersede(state, command, command.supersedes, nowMs);
  if (inTheWay !== 0) return { entries: [], answer: held(state, inTheWay, nowMs, command) };
  return grant(state, command, nowMs);
}

/** Holders are public: any caller with write scope could name the holder of a guard and depose it. */
function guardIsHeld(name: string): string {
  return `${name} is held. Acquiring it anew needs the token of that grant or the scope v1:admin.`;
}

function tokenOfOthers(): Decision<never> {
  return refuse('LEASE_NOT_HELD', { detail: 'The token belongs to a grant of other names.' });
}

/** Takes the names from the given grant, whose holder is known to be dead, and from no other: all or nothing. */
function supersede(
  state: State,
  command: AcquireNames,
  leaseSeq: Seq,
  nowMs: number,
): Decision<GrantedNames> {
  const broken: Entry[] = [];
  for (const name of command.names) {
    const decision = breakName(state, { type: 'BreakName', name, reason: 'superseded', leaseSeq });
    if (isRefusal(decision.answer)) return decision as Decision<never>;
    broken.push(...decision.entries);
  }
  const { entries, answer } = grant(state, command, nowMs, broken.length);
  return { entries: [...broken, ...entries], answer };
}

/** `after`: how many entries of the same decision come before it. */
function grant(state: State, command: AcquireNames, nowMs: number, after = 0): Decision<GrantedNames> {
  const seq = state.lastSeq + 1 + after;
  const { holder, tokenHash, metadata, ttlMs } = command;
  const expiresAtMs = nowMs + ttlMs;
  const leases = command.names.map((name) => ({
    name,
    holder,
    leaseSeq: seq,
    acquiredAtMs: nowMs,
    expiresAtMs,
    remainingMs: ttlMs,
  }));
  return append(
    { type: 'NameLeased', names: command.names, holder, tokenHash, expiresAtMs, metadata },
    { leases, seq, duplicate: false },
  );
}

/** The grant that holds the names of a command, so that each of them has a row. */
export function grantOf(state: State, command: AcquireNames, nowMs: number): GrantedNames {
  const leases = command.names.map((name) => grantedName(state, state.names.find(name) as NameRow, nowMs));
  return { leases, seq: leases[0]!.leaseSeq, duplicate: false };
}

function grantedName({ names }: State, row: NameRow, nowMs: number): GrantedName {
  const expiresAtMs = names.expiresAtMs.get(row);
  return {
    name: names.nameOf(row),
    holder: names.holderOf(row),
    leaseSeq: names.leaseSeq.get(row),
    acquiredAtMs: names.acquiredAtMs.get(row),
    expiresAtMs,
    remainingMs: expiresAtMs - nowMs,
  };
}

/** The holder of the conflicting lease, and how long it lasts; never its token. With several names, also which. */
export function held({ names }: State, row: NameRow, nowMs: number, asked?: AcquireNames): Refusal {
  const holder = names.holderOf(row);
  const remainingMs = Math.max(0, names.expiresAtMs.get(row) - nowMs);
  const name = asked === undefined ? {} : nameAmong(asked, names.nameOf(row));
  return { refused: 'LEASE_HELD', holder, remainingMs, ...name };
}

/** The caller that asked for one name knows it. */
export function nameAmong({ names }: AcquireNames, name: string): Pick<Refusal, 'name'> {
  return names.length === 1 ? {} : { name };
}

export function renewName(state: State, command: RenewName, nowMs: number): Decision<GrantedNames> {
  const { names } = state;
  const row = names.find(command.name);
  if (row === 0) return refuse('LEASE_NOT_HELD');
  if (!isNewestGrant(state, row, command)) {
    if (!names.isLive(row) || !names.heldBy(row, command.holder)) return refuse('LEASE_NOT_HELD');
    return refuse('LEASE_NOT_HELD', {
      detail: `${command.holder} holds this lease, but the token is not that of its current grant.`,
    });
  }
  if (!names.isLive(row)) return refuse(names.endOf(row) === 'expired' ? 'LEASE_EXPIRED' : 'LEASE_NOT_HELD');
  const oldMs = names.expiresAtMs.get(row);
  const expiresAtMs = Math.max(oldMs, nowMs + command.ttlMs);
  const lease = { ...grantedName(state, row, nowMs), expiresAtMs, remainingMs: expiresAtMs - nowMs };
  if (expiresAtMs === oldMs) {
    return unchanged({ leases: [lease], seq: names.lastSeq.get(row), duplicate: false });
  }
  return append(
    { type: 'NameRenewed', name: command.name, leaseSeq: lease.leaseSeq, expiresAtMs },
    { leases: [lease], seq: state.lastSeq + 1, duplicate: false },
  );
}

export function releaseName(state: State, command: ReleaseName): Decision<Released> {
  const { names } = state;
  const row = names.find(command.name);
  if (row === 0 || !names.isLive(row) || !isNewestGrant(state, row, command)) {
    return unchanged({ released: false, seq: state.lastSeq });
  }
  return append(
    { type: 'NameReleased', name: command.name, leaseSeq: names.leaseSeq.get(row) },
    { released: true, seq: state.lastSeq + 1 },
  );
}

function isNewestGrant(
  { names }: State,
  row: NameRow,
  proof: { holder: string; tokenHash: string },
): boolean {
  return names.tokens.matches(row, proof.tokenHash) && names.heldBy(row, proof.holder);
}

export function breakName(state: State, command: BreakName): Decision<Broken> {
  const { names } = state;
  const { name, reason } = command;
  const row = names.find(name);
  if (row === 0 || !names.isLive(row)) return refuse('LEASE_NOT_FOUND');
  const leaseSeq = names.leaseSeq.get(row);
  if (command.leaseSeq !== null && command.leaseSeq !== leaseSeq) return refuse('LEASE_NOT_CURRENT');
  return append(
    { type: 'NameBroken', name, leaseSeq, reason },
    { name, leaseSeq, holder: names.holderOf(row), seq: state.lastSeq + 1 },
  );
}

/** Only the live holder of the orchestrator's guard may wipe. Any other caller changes nothing. */
export function wipeNames(state: State, command: WipeNames): Decision<Wiped> {
  if (!holdsGuard(state, command.guard)) return refuse('GUARD_NOT_HELD');
  const count = rowsToWipe(state, command.prefix).length;
  return append(
    { type: 'NamesWiped', prefix: command.prefix, count },
    { wiped: count, seq: state.lastSeq + 1 },
  );
}

/** Whether this is the live grant of the orchestrator's guard. */
export function holdsGuard(state: State, guard: Guard): boolean {
  if (guard.name !== ORCHESTRATOR_GUARD) return false;
  const row = state.names.find(guard.name);
  return row !== 0 && state.names.isLive(row) && isNewestGrant(state, row, guard);
}
