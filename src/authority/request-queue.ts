/**
 * Requests that wait to be decided, in order of arrival. Requests that keep or end ownership go before reads and, when
 * more wait than one batch takes, before requests that create it, so that no flood can cost a holder its lease; hence
 * three lines. The calls of one batch request keep their order. All lines are bounded; a full one refuses at once. The
 * memory of decided requests that wait for a lease or a task is bounded, too.
 */
import type { Command } from '../core/commands.ts';
import type { Request } from './request.ts';

const ORDINARY_MAX = 100_000;
const URGENT_MAX = 400_000;
const BYTES_MAX = 256 * 1024 * 1024;
/** A separate bound: waiting requests must not keep others from being decided. */
const KEPT_BYTES_MAX = 256 * 1024 * 1024;

export class RequestQueue {
  private readonly urgent = new Fifo();
  private readonly ordinary = new Fifo();
  private readonly reads = new Fifo();
  private arrivals = 0;
  private bytes = 0;
  private keptBytes = 0;

  get size(): number {
    return this.urgent.size + this.ordinary.size + this.reads.size;
  }

  /** False when there is no room. */
  offer(request: Request): boolean {
    const { sink } = request;
    const line = this.lineOf(request);
    const bytes = bytesOf(request.command);
    if (!this.hasPlace(line) || this.bytes + bytes > BYTES_MAX) return false;
    const waiting = waitingBytes(request.command);
    if (waiting !== null && this.keptBytes + waiting > KEPT_BYTES_MAX) return false;
    this.bytes += bytes;
    request.arrival = this.arrivals++;
    line.push(request);
    if (sink !== null && line === this.ordinary) sink.hasOrdinary = true;
    return true;
  }

  /** The next request; `urgentFirst` when not all of them can be taken now. */
  take(urgentFirst: boolean): Request | undefined {
    const request = this.next(urgentFirst).shift();
    if (request !== undefined) this.bytes -= bytesOf(request.command);
    return request;
  }

  private hasPlace(line: Fifo): boolean {
    if (line === this.urgent) return line.size < URGENT_MAX;
    return this.ordinary.size + this.reads.size < ORDINARY_MAX;
  }

  private lineOf({ command, handling, sink }: Request): Fifo {
    if (command === null) return this.reads;
    return handling.isUrgent && !sink?.hasOrdinary ? this.urgent : this.ordinary;
  }

  private next(urgentFirst: boolean): Fifo {
    const { urgent, ordinary, reads } = this;
    if (urgent.size > 0) return urgentFirst || urgent.first < ordinary.first ? urgent : ordinary;
    return reads.first < ordinary.first ? reads : ordinary;
  }

  *takeAll(): Generator<Request, void, undefined> {
    for (let request = this.take(false); request !== undefined; request = this.take(false)) yield request;
  }

  /** Counts the memory of a decided request that has to wait. */
  holdBytes(request: Request): void {
    request.keptBytes = waitingBytes(request.command) ?? 0;
    this.keptBytes += request.keptBytes;
  }

  /** The request waits no longer, if it did. */
  releaseBytes(request: Request): void {
    this.keptBytes -= request.keptBytes;
    request.keptBytes = 0;
  }
}

/** The opaque bytes that a command keeps in memory until they are written. */
function bytesOf(command: Command | null): number {
  switch (command?.type) {
    case 'CreateTask':
    case 'AcceptIntent':
    case 'SetSchedule':
      return command.payload.length;
    case 'RequeueTask':
      return command.origin?.payload?.length ?? 0;
    case 'BulkTasks':
      return command.tasks.reduce((sum, { payload }) => sum + (payload?.length ?? 0), 0);
    case 'CompleteTask':
      return command.writes.reduce((sum, write) => sum + write.value.length, command.result?.length ?? 0);
    case 'WriteObject':
    case 'CheckpointTask':
      return command.value.length;
    case 'AcquireNames':
      return command.metadata?.length ?? 0;
    default:
      return 0;
  }
}

/** The memory of one place in a line, including the line itself. */
const PLACE_BYTES = 256;

/** The memory of a call while it waits in lines; null for a call that does not wait. */
function waitingBytes(command: Command | null): number | null {
  if (command === null || !('waitMs' in command) || command.waitMs === 0) return null;
  const names = command.type === 'AcquireNames' ? command.names : command.queues;
  return names.reduce((sum, name) => sum + PLACE_BYTES + name.length, bytesOf(command));
}

/** An array with a moving start: `shift` on a long array would move everything each time. */
class Fifo {
  private items: (Request | undefined)[] = [];
  private start = 0;

  get size(): number {
    return this.items.length - this.start;
  }

  /** The arrival of its first request; Infinity when it is empty. */
  get first(): number {
    return this.items[this.start]?.arrival ?? Number.POSITIVE_INFINITY;
  }

  push(request: Request): void {
    this.items.push(request);
  }

  shift(): Request | undefined {
    if (this.start === this.items.length) return undefined;
    const request = this.items[this.start];
    this.items[this.start] = undefined;
    this.start += 1;
    if (this.start === this.items.length) {
      this.items = [];
      this.start = 0;
    } else if (this.start === 8192) {
      this.items = this.items.slice(this.start);
      this.start = 0;
    }
    return request;
  }
}
