/** A checkpoint is written in parts of bounded size. Their numbers are reserved before it starts. */

/** The maximum number of parts of a checkpoint of `bytes`. */
export const partsNeeded = (bytes: number, bytesPerPart: number): number =>
  Math.ceil((bytes * 2) / Math.max(1, bytesPerPart)) + 2;
