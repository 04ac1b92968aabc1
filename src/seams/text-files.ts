/** The few small files a command reads or writes: tokens, output somebody asked for. A seam. */
export interface TextFiles {
  read(path: string): Promise<string>;
  /** Readable for its owner only; replaces what is there. */
  write(path: string, text: string): Promise<void>;
  /** A new directory of our own for what must not outlive us; among those of the system unless one is named. */
  makeTemporary(prefix: string, within?: string): Promise<string>;
  /** With everything below it; harmless when it is gone. */
  remove(path: string): Promise<void>;
}
