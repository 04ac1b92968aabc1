/** The few small files that commands read or write: tokens and requested output. A seam. */
export interface ReplaceableFile {
  /** The text of the file that has taken its place since the last look; null while it is the same file. */
  replacement(): Promise<string | null>;
  /** The text of the file as it is now: that of the last look, with what was written into it since. */
  text(): Promise<string>;
  close(): Promise<void>;
}

export interface TextFiles {
  read(path: string): Promise<string>;
  /** Readable by its owner only. Replaces an existing file. */
  write(path: string, text: string): Promise<void>;
  /**
   * Creates a private directory for files that must not outlive the process; in the system's temporary directory by
   * default.
   */
  makeTemporary(prefix: string, within?: string): Promise<string>;
  /** A file that is there, and that another process will replace by renaming one to its name. */
  openReplaceable(path: string): Promise<ReplaceableFile>;
  /** Recursive. Succeeds when it does not exist. */
  remove(path: string): Promise<void>;
}
