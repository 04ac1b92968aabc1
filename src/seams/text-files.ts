/** The few small files that commands read or write: tokens and requested output. A seam. */
export interface ReplaceableFile {
  /** The text of the file that has replaced it since the last check; null while it is the same file. */
  replacement(): Promise<string | null>;
  /** The current text of the file as of the last check, including later writes to it. */
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
  /** Opens an existing file that another process will replace by a rename. */
  openReplaceable(path: string): Promise<ReplaceableFile>;
  /** Recursive. Succeeds when it does not exist. */
  remove(path: string): Promise<void>;
}
