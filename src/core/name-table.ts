/**
 * The names: each has at most one live lease, and may have an object that only the holder of that lease
 * may write. `NameImage` describes the columns. A name with neither lease nor object
 * is idle and may be forgotten: its next grant is above every earlier one anyway.
 */
import { HolderNames } from './holder-names.ts';
import { NAME_ENDS, type NameEnd, type NameImage, type ObjectImage } from './image.ts';
import { NameColumns } from './row-columns.ts';
import type { Counted, NameRow, Seq } from './row-types.ts';
import { Int32Column, Uint8Column } from './tables/columns.ts';
import { DueRows } from './tables/due-rows.ts';
import { HashIndex, hashOfSeq, hashOfString } from './tables/hash-index.ts';
import { RowList } from './tables/row-list.ts';
import { Rows } from './tables/rows.ts';
import type { StringSlab } from './tables/text-column.ts';
import { TokenMemory } from './token-memory.ts';

/** 0 is a free row. */
const ENDS: readonly (NameEnd | 'free')[] = ['free', ...NAME_ENDS];
const LIVE = ENDS.indexOf('live');
const NONE = ENDS.indexOf('none');

export class NameTable extends NameColumns {
  private readonly ends = new Uint8Column<NameRow>();
  private readonly heapPosition = new Int32Column<NameRow>();
  private readonly before = new Int32Column<NameRow, NameRow>();
  private readonly after = new Int32Column<NameRow, NameRow>();

  readonly tokens = new TokenMemory();
  readonly rows: Rows<NameRow>;
  /** Leases that end at the same time expire in the order of their grants. */
  readonly expiring = new DueRows<NameRow>(this.before, this.after, this.heapPosition, (row) =>
    this.leaseSeq.get(row),
  );
  /** Names with neither lease nor object, in the order in which they became idle. */
  readonly idle = new RowList<NameRow>(this.before, this.after);
  readonly byName = new HashIndex<NameRow>();
  /** Live leases by fencing number: a write may present the number of another name. */
  readonly byLease = new HashIndex<NameRow>();
  readonly byHolder = new HolderNames(this);
  private foundName: string | null = null;
  private foundRow: NameRow | 0 = 0;
  private readonly seed: number;

  constructor(strings: StringSlab, seed: number) {
    super(strings);
    this.seed = seed;
    this.rows = new Rows<NameRow>([
      ...this.columns,
      this.ends,
      this.heapPosition,
      this.before,
      this.after,
      this.tokens,
      this.expiring,
      this.byHolder,
    ]);
  }

  /** A rule and its entry look up the same name one after the other, so the last result is cached. */
  find(name: string): NameRow | 0 {
    if (name === this.foundName) return this.foundRow;
    this.foundName = name;
    this.foundRow = this.search(name);
    return this.foundRow;
  }

  private search(name: string): NameRow | 0 {
    const index = this.byName;
    for (let node = index.first(hashOfString(name, this.seed)); node !== 0; node = index.after(node)) {
      const row = index.row(node);
      if (this.name.equals(row, name)) return row;
    }
    return 0;
  }

  nameOf(row: NameRow): string {
    return this.name.get(row)!;
  }

  holderOf(row: NameRow): string {
    return this.holder.get(row) ?? '';
  }

  heldBy(row: NameRow, holder: string): boolean {
    return this.holder.equals(row, holder);
  }

  endOf(row: NameRow): NameEnd {
    return ENDS[this.ends.get(row)] as NameEnd;
  }

  isLive(row: NameRow | 0): boolean {
    return this.ends.get(row) === LIVE;
  }

  /** Narrows a number between 1 and `rows.used` to a row. */
  inUse(row: Counted<NameRow>): row is NameRow {
    return this.ends.get(row as NameRow) !== 0;
  }

  /** Whether some name has a live lease with this number. */
  isLeaseLive(leaseSeq: Seq): boolean {
    const index = this.byLease;
    for (let node = index.first(hashOfSeq(leaseSeq)); node !== 0; node = index.after(node)) {
      if (this.leaseSeq.get(index.row(node)) === leaseSeq) return true;
    }
    return false;
  }

  tokenHashOf(row: NameRow): string {
    return this.tokens.hashOf(row);
  }

  pastTokensOf(row: NameRow): string[] {
    return this.tokens.pastOf(row);
  }

  objectOf(row: NameRow): ObjectImage | null {
    const value = this.value.get(row);
    if (value === null) return null;
    const [leaseSeq, seq] = [this.valueLeaseSeq.get(row), this.valueSeq.get(row)];
    return { value, version: this.version.get(row), leaseSeq, seq };
  }

  /** Every row after another, free ones too, so that a walk over a mostly free table can stop in between. */
  *allRows(after: number): Generator<NameRow> {
    for (let row = after + 1; row <= this.rows.used; row++) yield row as NameRow;
  }

  /** The live names of a holder after a row, in the order of their rows. */
  *heldNames(holder: string, after: number): Generator<NameRow> {
    const hash = hashOfString(holder, this.seed);
    for (let row = this.byHolder.after(holder, hash, after); row !== 0; ) {
      yield row;
      row = this.byHolder.after(holder, hash, row);
    }
  }

  /** A new name, without lease or object, not yet idle. The caller sets the columns of a lease. */
  create(row: NameRow, name: string): void {
    this.start(row, name);
    this.ends.set(row, NONE);
    this.tokens.clear(row);
    this.identify(row, name);
  }

  restore(image: NameImage): void {
    const row = image.row as NameRow;
    this.rows.restoreLive();
    this.restoreColumns(row, image);
    this.value.set(row, image.object?.value ?? null);
    this.valueLeaseSeq.set(row, image.object?.leaseSeq ?? 0);
    this.valueSeq.set(row, image.object?.seq ?? 0);
    this.tokens.clear(row);
    this.tokens.restore(row, image.tokenHash, image.pastTokens);
    this.identify(row, image.name);
    if (image.end === 'live') this.enter(row);
    else this.setEnd(row, image.end);
    if (this.isIdle(row)) this.becomeIdle(row);
  }

  private identify(row: NameRow, name: string): void {
    this.foundName = name;
    this.foundRow = row;
    this.byName.add(hashOfString(name, this.seed), row);
  }

  /** Gives the name a live lease; the previous one must have ended. */
  grant(row: NameRow, leaseSeq: Seq, holder: string, tokenHash: string, expiresAtMs: number): void {
    if (!this.holder.equals(row, holder)) this.holder.set(row, holder);
    this.tokens.set(row, tokenHash);
    this.leaseSeq.set(row, leaseSeq);
    this.expiresAtMs.set(row, expiresAtMs);
    this.enter(row);
  }

  /** Makes the lease of the name live. */
  private enter(row: NameRow): void {
    this.ends.set(row, LIVE);
    const holder = this.holderOf(row);
    this.byHolder.add(row, holder, hashOfString(holder, this.seed));
    this.byLease.add(hashOfSeq(this.leaseSeq.get(row)), row);
    this.expiring.add(row, this.expiresAtMs.get(row));
  }

  /** Ends a live lease. */
  end(row: NameRow, how: NameEnd): void {
    this.byLease.remove(hashOfSeq(this.leaseSeq.get(row)), row);
    this.byHolder.remove(row);
    this.expiring.remove(row);
    this.ends.set(row, ENDS.indexOf(how));
  }

  /** For images: the end of a lease that was never live in this state. */
  setEnd(row: NameRow, how: NameEnd): void {
    this.ends.set(row, ENDS.indexOf(how));
  }

  isIdle(row: NameRow): boolean {
    return this.ends.get(row) !== LIVE && !this.value.has(row);
  }

  becomeIdle(row: NameRow): void {
    this.idle.append(row);
  }

  leaveIdle(row: NameRow): void {
    this.idle.remove(row);
  }

  /** Frees an idle name. */
  forget(row: NameRow): void {
    this.foundName = null;
    this.leaveIdle(row);
    this.byName.remove(hashOfString(this.nameOf(row), this.seed), row);
    this.clear(row);
    this.tokens.clear(row);
    this.ends.set(row, 0);
    this.rows.free(row);
  }
}
