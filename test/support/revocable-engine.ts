// A log in memory that its writer can lose, as one in a database: the right to answer from memory expires, or the log
// is lost while idle. It has its own clock.
import type { Engine, Log, Replay } from '../../src/engines/log.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';

export class RevocableEngine implements Engine {
  mayAnswer = true;
  nowMs: number | null = null;
  /** Takes the log away. */
  lose: (fault: Error) => void = () => undefined;
  private readonly engine: Engine;

  constructor(engine: Engine = memoryEngine()) {
    this.engine = engine;
  }

  async open(replay: Replay): Promise<Log> {
    const log = await this.engine.open(replay);
    const lost = new Promise<Error>((resolve) => {
      this.lose = resolve;
    });
    Object.defineProperties(log, {
      mayAnswer: { get: () => this.mayAnswer },
      lost: { value: lost },
      nowMs: { value: () => this.nowMs },
    });
    return log;
  }
}
