/**
 * Leader election on a log that several processes can reach, as seen by one of them. The process is in one of these
 * states at any time, and the server is notified of each change at once:
 *
 *                 replayed                    the guard may be taken
 *   start ─► cold ─────────► following ─────────────────────────────► leading
 *             ▲               │    ▲ │                                   │
 *             │  compacted    │    └─┘ replay new entries, read leader   │ the guard was not renewed, an append failed,
 *             │  under it     │                                          │ or the deadline has passed: no more answers
 *             ├───────────────┘                                          │ are sent, and the state is dropped
 *             └──────────────────────────────────────────────────────────┘
 *   stop, from any state: the guard is released, and this process is done
 *
 * While the log is out of reach it is retried. Only faults that every retry would meet again are final: a log of a newer
 * version, damage, an entry that cannot be applied.
 */
import {
  type Engine,
  type Leader,
  type Log,
  LogCompactedError,
  LogDamagedError,
  LogGoneError,
  LogOutOfReachError,
  LogTooFarError,
  LogTooNewError,
} from '../engines/log.ts';
import type { Timer } from '../seams/clock.ts';
import { Authority, type AuthorityOptions } from './authority.ts';
import { Standby } from './standby.ts';

/** How often a follower polls. A leader that stops releases its guard, and a follower should take over within a second. */
const LOOK_MS = 200;
const RETRY_MS = 250;
/** After this much silence the database will not answer on that connection any more. */
const SILENCE_MS = 10_000;

export interface LeadershipOptions extends Omit<AuthorityOptions, 'onDeath'> {
  readonly hashSeed: number;
  /** The URLs of this process: a guard left by its own earlier run must not be shown as another server's. */
  readonly ownUrls?: readonly string[];
  /** From now on reads see only this standby. The fault is why an authority has ended, if one has. */
  readonly onStandby: (standby: Standby, fault: Error | null) => void;
  readonly onLead: (authority: Authority) => void;
  /** The log is out of reach; `tries` counts the failures since the last success. */
  readonly onOutOfReach: (fault: unknown, tries: number) => void;
  /** Called once after a final fault. */
  readonly onEnd: (fault: unknown) => void;
}

export class Leadership {
  private readonly engine: Engine;
  private readonly options: LeadershipOptions;
  private standby: Standby | null = null;
  private authority: Authority | null = null;
  private isStopping = false;
  private failedTries = 0;
  /** What callers of the standby are told of the last failure. */
  private trouble: string | null = null;
  /** How long the first replay of the log took. */
  private replayMs = 0;
  private endPause = (): void => undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(engine: Engine, options: LeadershipOptions) {
    this.engine = engine;
    this.options = options;
  }

  /** Resolves once this process leads, or has seen that another does. Rejects if the first try fails. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.running = this.run(resolve, reject);
    });
  }

  /** Releases the guard, if this process holds it. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.endPause();
    await this.authority?.close();
    await this.running;
    await this.standby?.close();
  }

  private async run(settled: () => void, failed: (fault: unknown) => void): Promise<void> {
    let hasSettled = false;
    while (!this.isStopping) {
      try {
        const authority = await this.look();
        this.failedTries = 0;
        this.trouble = null;
        if (this.standby !== null) this.standby.trouble = null;
        hasSettled = true;
        settled();
        if (authority === null) await this.pause(untilNextLook(this.standby!.leader));
        else await this.untilEnded(authority);
      } catch (fault) {
        if (!hasSettled) return failed(fault);
        if (isFinal(fault, this.standby)) return this.options.onEnd(fault);
        this.failedTries += 1;
        this.trouble = troubleOf(fault);
        if (this.standby !== null) this.standby.trouble = this.trouble;
        this.options.onOutOfReach(fault, this.failedTries);
        await this.pause(RETRY_MS);
      }
    }
    settled();
  }

  /** Replays what was written since the last look, and takes the guard if it may be taken. */
  private async look(): Promise<Authority | null> {
    this.standby ??= this.showCold(null);
    const { standby } = this;
    if (!(await this.readAlong(standby))) return null;
    const fromMs = this.options.clock.monotonicMs();
    const leading = standby.lead();
    let log: Log | null;
    try {
      log = await this.inTime(standby, leading);
    } catch (fault) {
      // A guard granted too late must be released. How far the replay came is unknown, too, unless the database was
      // found to be too far away before the replay.
      leading.then((late) => late?.close()).catch(() => undefined);
      if (!(fault instanceof LogTooFarError)) await this.startOver(standby, fault);
      throw fault;
    }
    if (log === null) return null;
    return this.lead(standby, log, this.replayMs + this.options.clock.monotonicMs() - fromMs);
  }

  /** Whether everything was replayed and the guard may be taken. */
  private async readAlong(standby: Standby): Promise<boolean> {
    const { isWarm } = standby;
    try {
      if (!isWarm) await this.replayFirst(standby);
      return (await this.inTime(standby, standby.catchUp())) === null;
    } catch (fault) {
      // A warm state outlives a broken or silent connection; a partial first replay is useless.
      const isCompacted = fault instanceof LogCompactedError;
      if (!isWarm || isCompacted) await this.startOver(standby, fault);
      else if (fault instanceof SilenceError) await standby.hangUp();
      if (isCompacted) return false;
      throw fault;
    }
  }

  private async replayFirst(standby: Standby): Promise<void> {
    const { clock } = this.options;
    const fromMs = clock.monotonicMs();
    await this.inTime(standby, standby.open(this.engine));
    this.replayMs = clock.monotonicMs() - fromMs;
  }

  private async lead({ state }: Standby, log: Log, replayMs: number): Promise<Authority> {
    const { clock, timers, retention, onLead, onCompactionFault } = this.options;
    this.standby = null;
    const onDeath = (fault: Error): void => {
      this.standby = this.showCold(fault);
    };
    const authority = new Authority(state, log, { clock, timers, retention, onDeath, onCompactionFault });
    try {
      await authority.start();
    } catch (fault) {
      this.standby ??= this.showCold(null);
      await log.close();
      throw fault;
    }
    authority.stats.replayMs = replayMs;
    this.authority = authority;
    if (!authority.hasEnded) onLead(authority);
    return authority;
  }

  private async untilEnded(authority: Authority): Promise<void> {
    // A stop before the authority existed did not close it.
    if (!this.isStopping && !authority.hasEnded) {
      await new Promise<void>((resolve) => authority.whenEnded(resolve));
    }
    this.authority = null;
    await authority.close();
  }

  /** The next look begins with an empty state, unless the fault is final and there is no next look. */
  private async startOver(standby: Standby, fault: unknown): Promise<void> {
    if (!isFinal(fault, standby)) this.standby = this.showCold(null);
    await standby.close();
  }

  private showCold(fault: Error | null): Standby {
    const { hashSeed, ownUrls, onStandby } = this.options;
    const standby = new Standby(hashSeed, ownUrls);
    standby.trouble = this.trouble;
    onStandby(standby, fault);
    return standby;
  }

  /** Rejects when nothing is received for `SILENCE_MS`. */
  private inTime<T>(standby: Standby, work: Promise<T>): Promise<T> {
    const { timers } = this.options;
    return new Promise((resolve, reject) => {
      let { received } = standby;
      const listen = (): Timer =>
        timers.after(SILENCE_MS, () => {
          if (standby.received === received) {
            reject(new SilenceError(`The database has been silent for ${SILENCE_MS} ms.`));
            return;
          }
          received = standby.received;
          timer = listen();
        });
      let timer = listen();
      work.finally(() => timer.cancel()).then(resolve, reject);
    });
  }

  private pause(ms: number): Promise<void> {
    if (this.isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.options.timers.after(ms, resolve);
      this.endPause = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

function isFinal(fault: unknown, standby: Standby | null): boolean {
  if (fault instanceof LogDamagedError || fault instanceof LogTooNewError) return true;
  return fault === standby?.replayFault;
}

/** No code of the system, such as EPIPE, looks like one. */
const SQL_STATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;

/** Our own sentences as they are. Those of the system may name addresses, which callers need not know: the code is enough. */
function troubleOf(fault: unknown): string {
  if (fault instanceof SilenceError || fault instanceof LogGoneError || fault instanceof LogTooFarError) {
    return fault.message;
  }
  const code = codeIn(fault);
  if (code !== null && SQL_STATE.test(code))
    return `The database of the log answers with an error (${code}).`;
  return `The database of the log cannot be reached${code === null ? '' : ` (${code})`}.`;
}

/** The code of the system or of the database, found along the chain of causes. */
function codeIn(fault: unknown): string | null {
  const { code, cause } = Object(fault) as { readonly code?: unknown; readonly cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? null : codeIn(cause);
}

class SilenceError extends LogOutOfReachError {
  override readonly name = 'SilenceError';
}

/** The next look is right after the guard expires, if that is sooner. */
function untilNextLook(leader: Leader | null): number {
  return Math.min(LOOK_MS, (leader?.remainingMs ?? LOOK_MS) + 1);
}
