/** The files for program output: appended to, rotated when full, listed and removed. */
export interface LogFiles {
  append(path: string, bytes: Uint8Array): Promise<void>;
  /** Replaces an existing file. */
  rename(from: string, to: string): Promise<void>;
}

export interface LogDirectory {
  /** The names of the files in it. */
  list(dir: string): Promise<readonly string[]>;
  remove(path: string): Promise<void>;
}
