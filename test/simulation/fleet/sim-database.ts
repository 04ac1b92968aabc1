/**
 * A database as the log in it needs one: the guard row, the epoch row, the rows of the log, and a clock of its own that can
 * be set. It knows the statements of `src/engines/postgres` by what is in them; what SQL makes of them is tested with a
 * real Postgres. A statement is carried out at one moment between question and answer, also when the process that asked has died.
 */
import type {
  BytesRow,
  SqlConnection,
  SqlConnections,
  SqlRow,
  SqlValue,
} from '../../../src/seams/database.ts';
import type { Kernel } from '../world/kernel.ts';
import type { Random } from '../world/random.ts';
import type { SimClock } from '../world/sim-clock.ts';
import type { SimProcess } from '../world/sim-process.ts';

interface LogRow {
  readonly at: number;
  readonly lastSeq: number;
  readonly checksum: number;
  readonly frame: Buffer;
}

interface GuardRow {
  holder: string;
  url: string;
  token: string | null;
  expiresAtMs: number;
}

/** What one process has read of the guard: the newest row and when, and whether it has seen a renewal as it came. */
interface Seen {
  row: string | null;
  atMs: number;
  hasSeenRenewal: boolean;
}

/** On its way there, and on its way back. */
const WAY_MS = [0.1, 4] as const;
/** Two looks that are further apart do not tell when a renewal between them came. */
const FRESH_MS = 900;

const NOTHING = ['has_table_privilege', 'sealed_through', 'SET checkpoint =', 'DELETE FROM'];

class CutError extends Error {
  readonly syscall = 'read';
}

async function outcomeOf<T>(carryOut: () => T): Promise<T> {
  return carryOut();
}

export class SimDatabase {
  readonly #kernel: Kernel;
  readonly #random: Random;
  readonly #clock: SimClock;
  readonly #guard: GuardRow = { holder: '', url: '', token: null, expiresAtMs: 0 };
  readonly #log: LogRow[] = [];
  readonly #seen = new Map<SimProcess, Seen>();
  readonly #open = new Map<SimProcess, Set<() => void>>();
  /** A server cannot reach it before this time. */
  readonly #cutUntilMs = new Map<string, number>();
  #epoch = 0;

  constructor(kernel: Kernel, random: Random, clock: SimClock) {
    this.#kernel = kernel;
    this.#random = random;
    this.#clock = clock;
  }

  /** Whether the process has seen another renew its guard, in time to know when that was. */
  hasSeenRenewal(process: SimProcess): boolean {
    return this.#seen.get(process)?.hasSeenRenewal ?? false;
  }

  /** The clock by which the process would know when that was has stood still. */
  forgetRenewals(process: SimProcess): void {
    this.#seen.delete(process);
  }

  /** Ends the connections of a server, and keeps it from making others for a while. */
  cut(server: string, forMs: number): void {
    this.#cutUntilMs.set(server, this.#kernel.nowMs + forMs);
    for (const [process, connections] of this.#open) {
      if (process.name.startsWith(`${server}.`)) for (const end of [...connections]) end();
    }
  }

  heal(): void {
    this.#cutUntilMs.clear();
  }

  connectionsFor(process: SimProcess, server: string): SqlConnections {
    return {
      address: 'simulated',
      connect: async () => {
        await this.#way(process);
        if ((this.#cutUntilMs.get(server) ?? 0) > this.#kernel.nowMs)
          throw new CutError('no way to the database');
        return this.#connection(process);
      },
    };
  }

  #connection(process: SimProcess): SqlConnection {
    let isOpen = true;
    let readyMs = 0;
    let end = (_fault: Error): void => {};
    const lost = new Promise<Error>((resolve) => {
      end = resolve;
    });
    const pending = new Set<(fault: Error) => void>();
    const close = (fault: Error): void => {
      isOpen = false;
      this.#open.get(process)?.delete(cut);
      for (const reject of pending) reject(fault);
      pending.clear();
    };
    const cut = (): void => {
      const fault = new CutError('the connection was cut');
      close(fault);
      end(fault);
    };
    this.#open.set(process, (this.#open.get(process) ?? new Set()).add(cut));
    const ask = <T>(carryOut: () => T): Promise<T> => {
      if (!isOpen) return Promise.reject(new CutError('the connection is closed'));
      return new Promise<T>((resolve, reject) => {
        pending.add(reject);
        readyMs = Math.max(readyMs, this.#kernel.nowMs + this.#random.span(...WAY_MS));
        // The database goes on with what has reached it, whatever becomes of the process that asked.
        this.#kernel.at(readyMs, null, () => {
          if (!isOpen && !process.isDead) return;
          const answer = outcomeOf(carryOut);
          readyMs = Math.max(readyMs, this.#kernel.nowMs + this.#random.span(...WAY_MS));
          this.#kernel.at(readyMs, process, () => {
            if (pending.delete(reject)) answer.then(resolve, reject);
          });
        });
      });
    };
    return {
      query: (text, values = []) => ask(() => this.#carryOut(text, values, process)),
      queryBytes: (text) => ask(() => this.#batches(text)),
      lost,
      close: async () => close(new CutError('the connection was closed')),
    };
  }

  #way(process: SimProcess): Promise<void> {
    return new Promise((resolve) => {
      this.#kernel.after(this.#random.span(...WAY_MS), process, resolve);
    });
  }

  #carryOut(text: string, values: readonly SqlValue[], process: SimProcess): readonly SqlRow[] {
    if (text.includes('AS always (one)')) return this.#look(process);
    if (text.startsWith('WITH free AS')) return this.#take(values);
    if (text.includes('AS durable')) return this.#renew(values);
    if (text.includes('token = NULL')) return this.#release(values);
    if (text.includes('WITH writer AS') && text.includes('INSERT INTO')) return this.#append(values);
    if (text.includes('SELECT max(at)')) return [[this.#log.at(-1)?.at ?? null]];
    if (text.includes('AND checksum = $2')) return this.#isThere(Number(values[0]), Number(values[1]));
    if (text.includes('SELECT format')) return [[1]];
    if (text.includes('pg_settings')) return [['on']];
    // Nothing is ever compacted here, so there are no checkpoints and nothing to sweep.
    if (NOTHING.some((words) => text.includes(words))) return [];
    if (text === 'SELECT extract(epoch FROM clock_timestamp()) * 1000') return [[this.#clock.wallMs()]];
    throw new Error(`The simulated database does not know ${text}`);
  }

  get #row(): string | null {
    const { token, expiresAtMs } = this.#guard;
    return token === null ? null : `${token} ${expiresAtMs}`;
  }

  #look(process: SimProcess): readonly SqlRow[] {
    const { token, expiresAtMs, holder, url } = this.#guard;
    this.#noteLook(process);
    const held =
      token === null ? [null, null, null, null, null] : [this.#row, token, expiresAtMs, holder, url];
    return [[this.#clock.wallMs(), this.#log.at(-1)?.lastSeq ?? null, ...held]];
  }

  #noteLook(process: SimProcess): void {
    const { nowMs } = this.#kernel;
    const before = this.#seen.get(process);
    const isNew = before !== undefined && this.#row !== null && this.#row !== before.row;
    const isFresh = isNew && nowMs - before.atMs < FRESH_MS;
    const hasSeenRenewal = isFresh || (before?.hasSeenRenewal ?? false);
    this.#seen.set(process, { row: this.#row, atMs: nowMs, hasSeenRenewal });
  }

  #take([holder, url, token, expiresAtMs, overdueRow]: readonly SqlValue[]): readonly SqlRow[] {
    if (this.#row !== null && this.#row !== overdueRow) return [];
    this.#epoch += 1;
    Object.assign(this.#guard, { holder, url, token, expiresAtMs: Number(expiresAtMs) });
    return [[this.#epoch]];
  }

  #renew([token, expiresAtMs]: readonly SqlValue[]): readonly SqlRow[] {
    if (this.#guard.token !== token) return [];
    this.#guard.expiresAtMs = Number(expiresAtMs);
    return [[this.#clock.wallMs()]];
  }

  #release([token]: readonly SqlValue[]): readonly SqlRow[] {
    if (this.#guard.token === token) this.#guard.token = null;
    return [];
  }

  #append([
    epoch,
    at,
    ,
    lastSeq,
    checksum,
    frame,
    before,
    checksumBefore,
  ]: readonly SqlValue[]): readonly SqlRow[] {
    if (epoch !== this.#epoch) return [];
    if (before !== 0 && this.#isThere(Number(before), Number(checksumBefore)).length === 0) return [];
    const bytes = Buffer.from(frame as Buffer);
    this.#log.push({ at: Number(at), lastSeq: Number(lastSeq), checksum: Number(checksum), frame: bytes });
    return [[1]];
  }

  #isThere(at: number, checksum: number): readonly SqlRow[] {
    return this.#log.some((row) => row.at === at && row.checksum === checksum) ? [[1]] : [];
  }

  /** Whatever is asked for in pages comes in one; the next is empty. */
  #batches(text: string): readonly BytesRow[] {
    const [, above] = /last_seq > (\d+)/.exec(text) ?? [];
    if (above === undefined) throw new Error(`The simulated database does not know ${text}`);
    return this.#log
      .filter(({ lastSeq }) => lastSeq > Number(above))
      .map(({ at, lastSeq, frame }) => ({ numbers: [lastSeq, at], bytes: Buffer.from(frame) }));
  }
}
