/**
 * A file that opaque bytes or entries are read from, with a reference count. A dropped file accepts no new readers;
 * the last reader closes it, so deleting a file never breaks a read.
 */
import { basename } from 'node:path';
import type { OpenFile } from '../../seams/files.ts';

export class LogFile {
  readonly number: number;
  readonly path: string;
  readonly name: string;
  /** Null before it is opened and after it is closed. */
  file: OpenFile | null;
  /** Bytes below this are durable and never change again. */
  durable: number;
  #users = 0;
  #dropped = false;

  constructor(number: number, path: string, file: OpenFile | null, durable: number) {
    this.number = number;
    this.path = path;
    this.name = basename(path);
    this.file = file;
    this.durable = durable;
  }

  retain(): void {
    this.#users += 1;
  }

  async release(): Promise<void> {
    this.#users -= 1;
    if (this.#dropped && this.#users === 0) await this.#close();
  }

  async drop(): Promise<void> {
    this.#dropped = true;
    if (this.#users === 0) await this.#close();
  }

  async #close(): Promise<void> {
    const file = this.file;
    this.file = null;
    await file?.close();
  }
}
