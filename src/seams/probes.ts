/** What `leasehold doctor` measures: how fast the disk syncs, and what a server answers. */
export interface DiskProbe {
  freeBytes(dir: string): Promise<number>;
  /** The durations of `count` small durable writes. */
  syncMs(dir: string, count: number): Promise<readonly number[]>;
}

export type HttpProbe = (
  url: string,
  token: string | null,
) => Promise<{
  readonly status: number;
  readonly text: string;
  /** The server's time from its Date header, to the second; NaN without one. */
  readonly dateMs: number;
  readonly tookMs: number;
}>;
