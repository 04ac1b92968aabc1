/**
 * Nominal types for row numbers and log positions. All of them are plain numbers at run time; the compiler refuses
 * one where another is expected.
 *
 * A row type is strict: a plain number is not a row. Rows come from `Rows.take`, from a column or an index that holds
 * rows, from `inUse` of a table, which narrows a counted number, and from an image, which was written with them.
 * Row 0 is never given out and means "none": lookups return `TaskRow | 0`, so the caller has to check. A column of
 * references is read without that check, because what it refers to follows from the state of its row.
 *
 * `Seq` is open on one side: a plain number is accepted, because entries, commands and the wire hold positions as
 * plain numbers. A row is not accepted, and a position is never a row.
 */
declare const kind: unique symbol;

interface Kind<K extends string> {
  readonly [kind]: K;
}

/** A row of `TaskTable`. */
export type TaskRow = number & Kind<'task'>;

/** A row of `LeaseTable`: a lease on a task. */
export type LeaseRow = number & Kind<'lease'>;

/** A row of `NameTable`. */
export type NameRow = number & Kind<'name'>;

/** A row of `TokenMemory`: the token of an earlier grant of a name. */
export type TokenRow = number & Kind<'token'>;

/** A row of `KeyTable`: a key of one queue, or that queue as a whole. */
export type KeyRow = number & Kind<'key'>;

/** A row of `KeyLines`: the waiting tasks of one key and priority. */
export type LineRow = number & Kind<'line'>;

/** A number that may turn out to be a row of one table: a plain number, but not a row of another table. */
export type Counted<Row extends Kind<string>> = number & Partial<Kind<Row[typeof kind]>>;

/** A position in the log. 0 is before the first entry, and means "none" where a position may be missing. */
export type Seq = number & Partial<Kind<'seq'>>;
