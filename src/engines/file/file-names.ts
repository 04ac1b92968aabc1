/**
 * The names in a data directory. One counter numbers segments and checkpoints, and never goes back:
 *
 *   0000000000000007.seg        a segment of the log
 *   0000000000000009.ckpt       a part of a checkpoint
 *   0000000000000009.ckpt.tmp   one that is being written; of no value after a crash (.seg.tmp: by a restore)
 *   0000000000000007.seg.part   one of a backup that is being received (also of .ckpt and backup.json)
 *   LOCK                        held by the writer, with its process id inside
 *   RESTORING                   a restore into the directory has not finished; until then there is no log in it
 */
export const LOCK_NAME = 'LOCK';
export const RESTORING_NAME = 'RESTORING';
/** Behind the name of a directory that a restore prepares beside the missing one, and then renames. */
export const RESTORING_SUFFIX = '.restoring';

export type FileKind = 'seg' | 'ckpt' | 'seg.tmp' | 'ckpt.tmp';

export interface NumberedName {
  readonly name: string;
  readonly number: number;
  readonly kind: FileKind;
}

/** What a name ends in until the whole backup is there: nothing that a log is made of. */
export const PART = '.part';

const PATTERN = /^(\d{16})\.((?:seg|ckpt)(?:\.tmp)?)$/;

export const fileName = (number: number, kind: FileKind): string =>
  `${String(number).padStart(16, '0')}.${kind}`;

/** Our files among the names of a directory, in the order of their numbers. */
export function numberedNames(names: readonly string[]): NumberedName[] {
  return names
    .flatMap((name) => {
      const match = PATTERN.exec(name);
      return match ? [{ name, number: Number(match[1]), kind: match[2] as FileKind }] : [];
    })
    .sort((a, b) => a.number - b.number);
}
