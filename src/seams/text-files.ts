/** The few small files that commands read or write: tokens and requested output. A seam. */
export interface TextFiles {
  read(path: string): Promise<string>;
  /** Readable by its owner only. Replaces an existing file. */
  write(path: string, text: string): Promise<void>;
  /**
   * Creates a private directory for files that must not outlive the process; in the system's temporary directory by
   * default.
   */
  makeTemporary(prefix: string, within?: string): Promise<string>;
  /** Recursive. Succeeds when it does not exist. */
  remove(path: string): Promise<void>;
}
