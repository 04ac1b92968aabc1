// An engine whose appends, commit marks or reads wait for the test: they reach the log below only when let go, or fail on
// demand.
import type { Engine, Log, Replay } from '../../src/engines/log.ts';

export class HeldEngine implements Engine {
  private readonly engine: Engine;
  private held: { go: () => void; fail: (fault: Error) => void }[] = [];
  holding = false;
  isHoldingMarks = false;
  isHoldingReads = false;
  appends = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  async open(replay: Replay): Promise<Log> {
    const log = await this.engine.open(replay);
    const append = log.append.bind(log);
    log.append = async () => {
      this.appends += 1;
      if (this.holding) await this.hold();
      await append();
    };
    const mark = log.mark.bind(log);
    log.mark = async () => {
      if (this.isHoldingMarks) await this.hold();
      await mark();
    };
    const read = log.read.bind(log);
    log.read = (reference) =>
      this.isHoldingReads ? this.hold().then(() => read(reference)) : read(reference);
    return log;
  }

  private hold(): Promise<void> {
    return new Promise((go, fail) => {
      this.held.push({ go, fail });
    });
  }

  /** How many batches are on their way to the disk: never more than one. Marks and reads count as well if they wait. */
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
