/**
 * Who writes a log that several processes can reach, as one of them lives through it. It is in one of these states
 * at any time, and the server is told of each change at the moment it happens:
 *
 *                 replayed                    the guard may be taken
 *   start ─► cold ─────────► following ─────────────────────────────► leading
 *             ▲               │    ▲ │                                   │
 *             │  compacted    │    └─┘ read along, look who leads        │ the guard was not renewed, an append failed,
 *             │  under it     │                                          │ or the deadline has passed: nothing leaves
 *             ├───────────────┘                                          │ any more, and the state is dropped
 *             └──────────────────────────────────────────────────────────┘
 *   stop, from anywhere: the guard is given back, and nothing happens any more
 *
 * While the log is out of reach it is asked for again and again. Only what would go wrong in the same way the next
 * time ends it: a log of a newer version, damage, an entry that cannot be applied.
 */
import {
  type Engine,
  type Leader,
  type Log,
  LogCompactedError,
  LogDamagedError,
  LogOutOfReachError,
  LogTooFarError,
  LogTooNewError,
} from '../engines/log.ts';
import type { Timer } from '../seams/clock.ts';
import { Authority, type AuthorityOptions } from './authority.ts';
import { Standby } from './standby.ts';

/** How often a follower looks. A leader that stops gives its guard back, and is to be followed within a second. */
const LOOK_MS = 200;
const RETRY_MS = 250;
/** A database from which nothing comes for so long will not answer on that connection any more. */
const SILENCE_MS = 10_000;

export interface LeadershipOptions extends Omit<AuthorityOptions, 'onDeath'> {
  readonly hashSeed: number;
  /** Where this process is reached: a guard that it left behind itself must not be shown as that of another. */
  readonly ownUrls?: readonly string[];
  /** From now on this is all there is to be seen. The fault is why an authority has ended, if one has. */
  readonly onStandby: (standby: Standby, fault: Error | null) => void;
  readonly onLead: (authority: Authority) => void;
  /** The log is out of reach; `tries` counts since it was not. */
  readonly onOutOfReach: (fault: unknown, tries: number) => void;
  /** Told once when there is no sense in trying again. */
  readonly onEnd: (fault: unknown) => void;
}

export class Leadership {
  private readonly engine: Engine;
  private readonly options: LeadershipOptions;
  private standby: Standby | null = null;
  private authority: Authority | null = null;
  private isStopping = false;
  private failedTries = 0;
  /** How long the replay of the log has taken: what was there at first, and what was left when the guard was taken. */
  private replayMs = 0;
  private endPause = (): void => undefined;
  private life: Promise<void> = Promise.resolve();

  constructor(engine: Engine, options: LeadershipOptions) {
    this.engine = engine;
    this.options = options;
  }

  /** Resolves once this process leads, or has seen that another does. Rejects if the log is out of reach already now. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.life = this.live(resolve, reject);
    });
  }

  /** Gives the guard back, if it is ours. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.endPause();
    await this.authority?.close();
    await this.life;
    await this.standby?.close();
  }

  private async live(settled: () => void, failed: (fault: unknown) => void): Promise<void> {
    let hasSettled = false;
    while (!this.isStopping) {
      try {
        const authority = await this.look();
        this.failedTries = 0;
        hasSettled = true;
        settled();
        if (authority === null) await this.pause(untilNextLook(this.standby!.leader));
        else await this.untilEnded(authority);
      } catch (fault) {
        if (!hasSettled) return failed(fault);
        if (isFinal(fault, this.standby)) return this.options.onEnd(fault);
        this.failedTries += 1;
        this.options.onOutOfReach(fault, this.failedTries);
        await this.pause(RETRY_MS);
      }
    }
    settled();
  }

  /** Takes over what was written since the last look, and the guard if it may be taken. */
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
      // A guard that comes too late must be given back. Nor is it known how far the replay has come, unless it
      // was found out before that the log is too far away.
      leading.then((late) => late?.close()).catch(() => undefined);
      if (!(fault instanceof LogTooFarError)) await this.startOver(standby, fault);
      throw fault;
    }
    if (log === null) return null;
    return this.lead(standby, log, this.replayMs + this.options.clock.monotonicMs() - fromMs);
  }

  /** Whether it has taken over everything and found that the guard may be taken. */
  private async readAlong(standby: Standby): Promise<boolean> {
    const { isWarm } = standby;
    try {
      if (!isWarm) await this.replayFirst(standby);
      return (await this.inTime(standby, standby.catchUp())) === null;
    } catch (fault) {
      // A warm state outlives a connection that was cut or is silent; what was replayed in part is of no use.
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
    // A stop that came before there was an authority has not closed it.
    if (!this.isStopping && !authority.hasEnded) {
      await new Promise<void>((resolve) => authority.whenEnded(resolve));
    }
    this.authority = null;
    await authority.close();
  }

  /** The next look begins with an empty state, unless there is none because this fault would come again. */
  private async startOver(standby: Standby, fault: unknown): Promise<void> {
    if (!isFinal(fault, standby)) this.standby = this.showCold(null);
    await standby.close();
  }

  private showCold(fault: Error | null): Standby {
    const { hashSeed, ownUrls, onStandby } = this.options;
    const standby = new Standby(hashSeed, ownUrls);
    onStandby(standby, fault);
    return standby;
  }

  /** Gives up when nothing is received for too long. */
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

class SilenceError extends LogOutOfReachError {
  override readonly name = 'SilenceError';
}

/** A guard that is about to run out is looked at right then. */
function untilNextLook(leader: Leader | null): number {
  return Math.min(LOOK_MS, (leader?.remainingMs ?? LOOK_MS) + 1);
}
