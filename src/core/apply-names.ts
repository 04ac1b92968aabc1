/** The effect of each entry about a name: its lease, and the object that only its holder may write. */
import { check } from './check.ts';
import type {
  FencedWrite,
  NameBroken,
  NameExpired,
  NameLeased,
  NameReleased,
  NameRenewed,
  NamesWiped,
  ObjectDeleted,
  ObjectWritten,
  TaskCompleted,
} from './entries.ts';
import type { NameEnd } from './image.ts';
import { GUARD_PREFIX } from './reserved-names.ts';
import type { NameRow, Seq } from './row-types.ts';
import type { State } from './state.ts';

export function leased({ names }: State, entry: NameLeased, seq: Seq, atMs: number): void {
  for (const name of entry.names) {
    let row = names.find(name);
    if (row === 0) {
      row = names.rows.take();
      names.create(row, name);
    } else if (names.isLive(row)) {
      check(names.heldBy(row, entry.holder), entry, seq, `${name} is held by another holder`);
      names.end(row, 'released');
    } else if (names.isIdle(row)) {
      names.leaveIdle(row);
    }
    names.grant(row, seq, entry.holder, entry.tokenHash, entry.expiresAtMs);
    names.acquiredAtMs.set(row, atMs);
    names.endedSeq.set(row, 0);
    names.endedAtMs.set(row, 0);
    names.metadata.set(row, entry.metadata);
    names.lastSeq.set(row, seq);
  }
}

/** The row of a name whose live lease is the one named. Any other lease fails the check. */
function live(
  { names }: State,
  entry: NameRenewed | NameReleased | NameExpired | NameBroken,
  seq: Seq,
): NameRow {
  const row = names.find(entry.name);
  check(row !== 0 && names.isLive(row), entry, seq, 'the name is not held');
  check(names.leaseSeq.get(row) === entry.leaseSeq, entry, seq, 'the lease is not current');
  return row;
}

/** As `live`, and the lease has not expired. */
function held(state: State, entry: NameRenewed | NameReleased | NameBroken, seq: Seq, atMs: number): NameRow {
  const row = live(state, entry, seq);
  check(atMs < state.names.expiresAtMs.get(row), entry, seq, 'the lease has run out');
  return row;
}

export function renewed(state: State, entry: NameRenewed, seq: Seq, atMs: number): void {
  const row = held(state, entry, seq, atMs);
  const { names } = state;
  check(entry.expiresAtMs > names.expiresAtMs.get(row), entry, seq, 'a renewal never shortens');
  names.expiresAtMs.set(row, entry.expiresAtMs);
  names.lastSeq.set(row, seq);
}

export function released(state: State, entry: NameReleased, seq: Seq, atMs: number): void {
  endName(state, held(state, entry, seq, atMs), seq, atMs, 'released');
}

export function expired(state: State, entry: NameExpired, seq: Seq, atMs: number): void {
  const row = live(state, entry, seq);
  check(state.names.expiresAtMs.get(row) <= atMs, entry, seq, 'the lease has not run out');
  endName(state, row, seq, atMs, 'expired');
}

export function broken(state: State, entry: NameBroken, seq: Seq, atMs: number): void {
  endName(state, held(state, entry, seq, atMs), seq, atMs, 'broken');
}

export function endName({ names }: State, row: NameRow, seq: Seq, atMs: number, how: NameEnd): void {
  names.end(row, how);
  names.endedSeq.set(row, seq);
  names.endedAtMs.set(row, atMs);
  names.lastSeq.set(row, seq);
  if (names.isIdle(row)) names.becomeIdle(row);
}

export function wiped(state: State, entry: NamesWiped, seq: Seq, atMs: number): void {
  const rows = rowsToWipe(state, entry.prefix);
  check(rows.length === entry.count, entry, seq, `it ends ${rows.length} leases, not ${entry.count}`);
  for (const row of rows) endName(state, row, seq, atMs, 'wiped');
}

/** The live leases under a prefix, guards left out, in the order of their rows. */
export function rowsToWipe({ names }: State, prefix: string): NameRow[] {
  const rows: NameRow[] = [];
  for (const row of names.expiring.all()) {
    const name = names.nameOf(row);
    if (name.startsWith(prefix) && !name.startsWith(GUARD_PREFIX)) rows.push(row);
  }
  return rows.sort((a, b) => a - b);
}

export function writeObject(
  { names }: State,
  entry: ObjectWritten | TaskCompleted,
  write: FencedWrite,
  seq: Seq,
  atMs: number,
): void {
  const row = names.find(write.objectId);
  check(row !== 0 && names.isLive(row), entry, seq, 'the object is not held');
  check(names.leaseSeq.get(row) === write.leaseSeq, entry, seq, 'the write is not fenced');
  check(atMs < names.expiresAtMs.get(row), entry, seq, 'the lease has run out');
  check(write.version === names.version.get(row) + 1, entry, seq, 'the version is not the next one');
  names.value.set(row, write.value);
  names.version.set(row, write.version);
  names.valueLeaseSeq.set(row, write.leaseSeq);
  names.valueSeq.set(row, seq);
  names.lastSeq.set(row, seq);
}

export function deleted({ names }: State, entry: ObjectDeleted, seq: Seq, atMs: number): void {
  const row = names.find(entry.objectId);
  check(row !== 0 && names.isLive(row), entry, seq, 'the object is not held');
  check(names.leaseSeq.get(row) === entry.leaseSeq, entry, seq, 'the delete is not fenced');
  check(atMs < names.expiresAtMs.get(row), entry, seq, 'the lease has run out');
  check(names.value.has(row), entry, seq, 'there is no object');
  check(entry.version === names.version.get(row) + 1, entry, seq, 'the version is not the next one');
  names.value.set(row, null);
  names.version.set(row, entry.version);
  names.lastSeq.set(row, seq);
}
