/**
 * `LEASEHOLD_CHECKPOINT_FILE`: how a program under `work` saves its progress. The file is in a private directory of the
 * task and holds the last checkpoint, or nothing. A program writes another file beside it and renames that to this name,
 * so that half a value is never read. Text written in place is read once, when the program has ended.
 */
import { join } from 'node:path';
import type { TaskContext } from '../client/task-context.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Timer } from '../seams/clock.ts';
import type { ReplaceableFile } from '../seams/text-files.ts';
import type { Shell } from './shell.ts';

/** The client sends checkpoints no more often than this. */
const LOOK_EVERY_MS = 1_000;

export class CheckpointFile {
  readonly path: string;
  private readonly dir: string;
  private readonly file: ReplaceableFile;
  private readonly shell: Shell;
  private readonly task: TaskContext<unknown>;
  private readonly refused: (why: string) => void;
  private timer: Timer | null = null;
  /** The content of the file when this process last read or wrote it. */
  private known: string;
  /** Serialises the reads of the file. */
  private looking: Promise<void> = Promise.resolve();

  /** `refused` is called with the reason when a value was not saved. */
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

  /** Called when the program has ended: sends its last checkpoint before the verdict, and removes the directory. */
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

  /** The program has ended, so the file is complete. */
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
    // Not awaited: sending is rate limited, and the verdict waits for a pending checkpoint.
    this.task.checkpoint(value).catch(this.tell);
  }

  /** Ignores a lost lease, which is reported elsewhere, and a completed task, which needs no checkpoint. */
  private readonly tell = (fault: unknown): void => {
    if (!LeaseholdError.is(fault, 'LEASE_LOST'))
      this.refused(fault instanceof Error ? fault.message : String(fault));
  };
}
