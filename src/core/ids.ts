/**
 * Ids that we make are log positions: the id of a task is made from the `seq` of its creation, the id of
 * a lease from the `seq` of its grant. So they need no table, never repeat, and sort by age.
 */
const DIGITS = 11; // 32^11 > 2^53

export function taskIdOfSeq(seq: number): string {
  return `t${seq.toString(32).padStart(DIGITS, '0')}`;
}

export function leaseIdOfSeq(seq: number): string {
  return `l${seq.toString(32).padStart(DIGITS, '0')}`;
}

/** The `seq` behind an id of ours; 0 when the id is not of our making. */
export function seqOfTaskId(id: string): number {
  return seqAfter('t', id);
}

export function seqOfLeaseId(id: string): number {
  return seqAfter('l', id);
}

function seqAfter(letter: string, id: string): number {
  if (id.length !== DIGITS + 1 || id[0] !== letter) return 0;
  let seq = 0;
  for (let index = 1; index <= DIGITS; index++) {
    const code = id.charCodeAt(index);
    if (code >= 0x30 && code <= 0x39) seq = seq * 32 + (code - 0x30);
    else if (code >= 0x61 && code <= 0x76) seq = seq * 32 + (code - 0x57);
    else return 0;
  }
  return seq <= Number.MAX_SAFE_INTEGER ? seq : 0;
}
