/** What `doctor` measures from outside: how fast the disk syncs, and what a server answers. */
export interface DiskProbe {
  freeBytes(dir: string): Promise<number>;
  /** How long a small write took until it was durable, so many times. */
  syncMs(dir: string, count: number): Promise<readonly number[]>;
}

export type HttpProbe = (
  url: string,
  token: string | null,
) => Promise<{
  readonly status: number;
  readonly text: string;
  /** What the server says the time is, to the second; NaN when it does not say. */
  readonly dateMs: number;
  readonly tookMs: number;
}>;
