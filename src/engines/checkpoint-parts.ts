/** A checkpoint is written in parts of bounded size, whose numbers are reserved before it is begun. */

/** How many parts a checkpoint of at most `bytes` can need when each holds so many bytes of it. */
export const partsNeeded = (bytes: number, bytesPerPart: number): number =>
  Math.ceil((bytes * 2) / Math.max(1, bytesPerPart)) + 2;
