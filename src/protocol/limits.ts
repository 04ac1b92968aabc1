/** The limits of the contract, in one place. */
export const LIMITS = {
  bodyBytes: 1024 * 1024,
  opaqueBytes: 256 * 1024,
  checkpointBytes: 64 * 1024,
  nameBytes: 256,
  scheduleNameBytes: 200,
  everyMinMs: 1_000,
  jitterMaxMs: 86_400_000,
  reasonBytes: 4096,
  tracestateBytes: 512,
  ttlMinMs: 10,
  ttlMaxMs: 30 * 86_400_000,
  waitMaxMs: 600_000,
  delayMaxMs: 366 * 86_400_000,
  leasesMax: 1_000,
  batchOps: 5_000,
  namesMax: 1_000,
  writesMax: 1_000,
  listMax: 1_000,
  slotsMax: 1_000,
  sessionsMax: 5_000,
  tokenBytesMin: 16,
  rateCountMax: 10_000,
  ratePerMaxMs: 30 * 86_400_000,
} as const;

/** The longest pause between attempts where the request names none. */
export const DEFAULT_MAX_BACKOFF_MS = 300_000;
