// The types of `slow-line.mjs`, for tests.
export interface SlowLine {
  readonly url: string;
  close(): void;
}

export function openSlowLine(port: number, bitsPerSecond: number): Promise<SlowLine>;
