/**
 * The names in a data directory. One counter numbers segments and checkpoints and never goes back:
 *
 *   0000000000000007.seg        a segment of the log
 *   0000000000000009.ckpt       a part of a checkpoint
 *   0000000000000009.ckpt.tmp   a part being written; worthless after a crash (.seg.tmp: by a restore)
 *   0000000000000007.seg.part   a file of a backup being received (also of .ckpt and backup.json)
 *   LOCK                        held by the writer, with its process id inside
 *   RESTORING                   a restore into the directory has not finished; the directory holds no log yet
 */
export const LOCK_NAME = 'LOCK';
export const RESTORING_NAME = 'RESTORING';
/** Suffix of the directory that a restore prepares and then renames to the missing target. */
export const RESTORING_SUFFIX = '.restoring';

export type FileKind = 'seg' | 'ckpt' | 'seg.tmp' | 'ckpt.tmp';

export interface NumberedName {
  readonly name: string;
  readonly number: number;
  readonly kind: FileKind;
}

/** Suffix of a file until the whole backup is received. No file of a log ends in it. */
export const PART = '.part';

const PATTERN = /^(\d{16})\.((?:seg|ckpt)(?:\.tmp)?)$/;

export const fileName = (number: number, kind: FileKind): string =>
  `${String(number).padStart(16, '0')}.${kind}`;

/** The files of the log among the names of a directory, in the order of their numbers. */
export function numberedNames(names: readonly string[]): NumberedName[] {
  return names
    .flatMap((name) => {
      const match = PATTERN.exec(name);
      return match ? [{ name, number: Number(match[1]), kind: match[2] as FileKind }] : [];
    })
    .sort((a, b) => a.number - b.number);
}
