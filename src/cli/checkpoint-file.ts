/**
 * `LEASEHOLD_CHECKPOINT_FILE`: how a program under `work` saves its progress. The file lies in a private directory of the
 * task and has the last checkpoint in it, or nothing. A program writes another file beside it and renames that to this
 * name, so that no half of a value is ever read. What was written into the file in place is read once, when the program has ended.
 */
import { join } from 'node:path';
import type { TaskContext } from '../client/task-context.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Timer } from '../seams/clock.ts';
import type { ReplaceableFile } from '../seams/text-files.ts';
import type { Shell } from './shell.ts';

/** As often as one would be sent. */
const LOOK_EVERY_MS = 1_000;

export class CheckpointFile {
  readonly path: string;
  private readonly dir: string;
  private readonly file: ReplaceableFile;
  private readonly shell: Shell;
  private readonly task: TaskContext<unknown>;
  private readonly refused: (why: string) => void;
  private timer: Timer | null = null;
  /** What the file had in it when it was last read or written here. */
  private known: string;
  /** One look at a time. */
  private looking: Promise<void> = Promise.resolve();

  /** `refused` is told of values that were not saved. */
  static async open(
    shell: Shell,
    task: TaskContext<unknown>,
    refused: (why: string) => void,
  ): Promise<CheckpointFile> {
    const dir = await shell.files.makeTemporary('leasehold-work-');
    const path = join(dir, 'checkpoint');
    const last = task.lastCheckpoint === undefined ? '' : `${JSON.stringify(task.lastCheckpoint)}\n`;
    await shell.files.write(path, last);
    return new CheckpointFile(shell, task, refused, dir, await shell.files.openReplaceable(path), last);
  }

  private constructor(
    shell: Shell,
    task: TaskContext<unknown>,
    refused: (why: string) => void,
    dir: string,
    file: ReplaceableFile,
    known: string,
  ) {
    this.shell = shell;
    this.task = task;
    this.refused = refused;
    this.dir = dir;
    this.path = join(dir, 'checkpoint');
    this.file = file;
    this.known = known;
    this.lookLater();
  }

  /** The program has ended: what it saved last goes before the verdict, and nothing is left on the disk. */
  async close(): Promise<void> {
    this.timer?.cancel();
    await this.look();
    await this.lookInPlace().catch(this.tell);
    await this.file.close();
    await this.shell.files.remove(this.dir);
  }

  private lookLater(): void {
    this.timer = this.shell.timers.after(LOOK_EVERY_MS, () => {
      this.lookLater();
      void this.look();
    });
  }

  private look(): Promise<void> {
    this.looking = this.looking.then(() => this.take()).catch(this.tell);
    return this.looking;
  }

  private async take(): Promise<void> {
    const text = await this.file.replacement();
    if (text !== null) this.save(text);
  }

  /** No program writes any more, so what stands in the file is whole. */
  private async lookInPlace(): Promise<void> {
    const text = await this.file.text();
    if (text !== this.known) this.save(text);
  }

  private save(text: string): void {
    this.known = text;
    let value: Json;
    try {
      value = Json.text(text.trim());
    } catch (fault) {
      if (!(fault instanceof SyntaxError)) throw fault;
      this.refused(`it is not JSON (${fault.message})`);
      return;
    }
    // Not awaited: it may have to wait for its second, and the verdict waits for it by itself.
    this.task.checkpoint(value).catch(this.tell);
  }

  /** A lost lease is told of elsewhere; and what was completed needs no checkpoint. */
  private readonly tell = (fault: unknown): void => {
    if (!LeaseholdError.is(fault, 'LEASE_LOST'))
      this.refused(fault instanceof Error ? fault.message : String(fault));
  };
}
