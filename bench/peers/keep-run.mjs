/**
 * Puts the tables of a run into the stored ones. Pure. A table (one work, one width) is taken from one run as a whole, so
 * that what stands beside each other was measured in turn; tables of other works and widths stay as they are.
 */
export function withRun(stored, run) {
  if (stored === null) return run;
  const isNew = ({ work, width }) =>
    run.measured.some((entry) => entry.work === work && entry.width === width);
  const others = (entries) => entries.filter((entry) => !isNew(entry));
  return {
    ...run,
    versions: { ...stored.versions, ...run.versions },
    measured: [...others(stored.measured), ...run.measured],
    skipped: [...stored.skipped, ...run.skipped],
    failed: [...others(stored.failed), ...run.failed],
  };
}
