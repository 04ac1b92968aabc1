/** The invariants of names and their objects in one state. */
import { nameRows } from './invariant-rows.ts';
import type { Fail } from './invariants.ts';
import type { NameRow, Seq } from './row-types.ts';
import type { State } from './state.ts';

export function checkHolders(state: State, fail: Fail): void {
  const { names } = state;
  for (const row of nameRows(state)) {
    const name = names.nameOf(row);
    if (!names.isLive(row)) {
      if (names.endedSeq.get(row) <= names.leaseSeq.get(row)) fail(`${name} ended before it began`);
      continue;
    }
    if (names.holderOf(row) === '' || names.tokens.hashOf(row) === '')
      fail(`${name} is held without holder or token`);
    if (names.endedSeq.get(row) !== 0) fail(`${name} is held and has ended`);
  }
}

export function checkIdle(state: State, fail: Fail): void {
  const { names } = state;
  const idle = new Set<NameRow>();
  let endedSeq = 0;
  for (let row: NameRow | 0 = names.idle.first; row !== 0; row = names.idle.next(row)) {
    if (idle.has(row) || !names.inUse(row)) fail(`row ${row} is idle twice or free`);
    idle.add(row);
    if (names.endedSeq.get(row) < endedSeq) fail(`${names.nameOf(row)} became so before the one before it`);
    endedSeq = names.endedSeq.get(row);
  }
  for (const row of nameRows(state)) {
    const bare = !names.isLive(row) && !names.value.has(row);
    if (bare !== idle.has(row)) fail(`${names.nameOf(row)} is ${names.endOf(row)}`);
  }
  if (names.idle.size !== idle.size) fail(`${names.idle.size} are counted and ${idle.size} there`);
}

export function checkLinked(state: State, fail: Fail): void {
  const { names } = state;
  const grants = new Map<Seq, string>();
  for (const row of nameRows(state)) {
    const leaseSeq = names.leaseSeq.get(row);
    if (leaseSeq === 0) continue;
    const grant = `${names.holderOf(row)} ${names.acquiredAtMs.get(row)} ${names.tokens.hashOf(row)}`;
    const other = grants.get(leaseSeq) ?? grant;
    if (other !== grant) fail(`lease ${leaseSeq} of ${names.nameOf(row)} belongs to another grant`);
    grants.set(leaseSeq, grant);
  }
}

export function checkFenced(state: State, fail: Fail): void {
  const { names } = state;
  for (const row of nameRows(state)) {
    if (!names.value.has(row)) continue;
    const fenced = names.valueLeaseSeq.get(row) > 0 && names.version.get(row) > 0;
    if (!fenced) fail(`${names.nameOf(row)} was`);
  }
}

export function checkNotStale(state: State, fail: Fail): void {
  const { names } = state;
  for (const row of nameRows(state)) {
    if (!names.value.has(row)) continue;
    const name = names.nameOf(row);
    const leaseSeq = names.valueLeaseSeq.get(row);
    if (leaseSeq > names.leaseSeq.get(row)) fail(`${name} was written by ${leaseSeq}, above its fence`);
    if (names.valueSeq.get(row) <= leaseSeq) fail(`${name} was written before its lease was granted`);
    const overtaken =
      leaseSeq < names.leaseSeq.get(row) && names.valueSeq.get(row) >= names.leaseSeq.get(row);
    if (overtaken) fail(`${name} was written by ${leaseSeq} after ${names.leaseSeq.get(row)} was granted`);
  }
}
