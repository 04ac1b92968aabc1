/**
 * Writes all of the bytes, with several writes if necessary. A disk that is nearly full accepts the part that fits
 * and reports the error only for the rest.
 */
import type { OpenFile } from '../../seams/files.ts';

/** Whether a fault means that the disk or the user's quota is full. */
export function isDiskFull(fault: unknown): boolean {
  return fault instanceof Error && 'code' in fault && (fault.code === 'ENOSPC' || fault.code === 'EDQUOT');
}

export async function writeFully(file: OpenFile, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const count = await file.write(bytes.subarray(done), at + done);
    if (count === 0) throw new Error(`Only ${done} of ${bytes.length} bytes were written.`);
    done += count;
  }
}
