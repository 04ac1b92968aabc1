/**
 * Writes all of the bytes, in several writes where one does not take them all. A disk that is nearly full takes the
 * part that fits and says why only when it is given the rest.
 */
import type { OpenFile } from '../../seams/files.ts';

/** Whether a fault says that the disk, or what this user may take of it, is full. */
export function isDiskFull(fault: unknown): boolean {
  return fault instanceof Error && 'code' in fault && (fault.code === 'ENOSPC' || fault.code === 'EDQUOT');
}

export async function writeWhole(file: OpenFile, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const count = await file.write(bytes.subarray(done), at + done);
    if (count === 0) throw new Error(`Only ${done} of ${bytes.length} bytes were written.`);
    done += count;
  }
}
