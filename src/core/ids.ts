/**
 * Generated ids are log positions: the id of a task encodes the `seq` of its creation, the id of a lease the
 * `seq` of its grant, the id of a session, which is also that of its start task, the `seq` of its intent.
 * So they need no table, never repeat, and sort by age.
 */
import type { Seq } from './row-types.ts';

const DIGITS = 11; // 32^11 > 2^53

export function taskIdOfSeq(seq: Seq): string {
  return `t${digitsOf(seq)}`;
}

export function leaseIdOfSeq(seq: Seq): string {
  return `l${digitsOf(seq)}`;
}

export function sessionIdOfSeq(seq: Seq): string {
  return `s${digitsOf(seq)}`;
}

/** All pairs of base 32 digits, so that the hot path only concatenates. */
const PAIRS = Array.from({ length: 1024 }, (_, value) => value.toString(32).padStart(2, '0'));
const LOW_SPAN = 1024 * 1024;
let lastHigh = -1;
let highDigits = '';

function digitsOf(seq: Seq): string {
  const high = Math.floor(seq / LOW_SPAN);
  if (high !== lastHigh) {
    lastHigh = high;
    highDigits = high.toString(32).padStart(DIGITS - 4, '0');
  }
  const low = seq % LOW_SPAN;
  return highDigits + PAIRS[low >>> 10]! + PAIRS[low & 1023]!;
}

/** The `seq` behind a generated id; 0 for any other id. */
export function seqOfTaskId(id: string): Seq {
  return seqAfter('t', id);
}

export function seqOfLeaseId(id: string): Seq {
  return seqAfter('l', id);
}

export function seqOfSessionId(id: string): Seq {
  return seqAfter('s', id);
}

function seqAfter(letter: string, id: string): Seq {
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
