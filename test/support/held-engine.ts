// An engine whose appends wait for the test: they reach the log below only when let go, or fail on demand.
import type { Engine, Log, Replay } from '../../src/engines/log.ts';

export class HeldEngine implements Engine {
  private readonly engine: Engine;
  private held: { go: () => void; fail: (fault: Error) => void }[] = [];
  holding = false;
  appends = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  async open(replay: Replay): Promise<Log> {
    const log = await this.engine.open(replay);
    const append = log.append.bind(log);
    log.append = async () => {
      this.appends += 1;
      if (this.holding) {
        await new Promise<void>((go, fail) => {
          this.held.push({ go, fail });
        });
      }
      await append();
    };
    return log;
  }

  /** How many batches are on their way to the disk: never more than one. */
  get waiting(): number {
    return this.held.length;
  }

  letGo(): void {
    for (const { go } of this.held.splice(0)) go();
  }

  fail(fault: Error): void {
    for (const { fail } of this.held.splice(0)) fail(fault);
  }
}
