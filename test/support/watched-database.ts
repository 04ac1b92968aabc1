// A database whose statements a test can wait for and make fail. Everything else goes to the real one.
import type { Queryable } from '../../src/postgres/database.ts';

export class WatchedDatabase implements Queryable {
  readonly texts: string[] = [];
  /** What every statement fails with while it is set. */
  fault: Error | null = null;
  private readonly db: Queryable;
  private running: Promise<unknown>[] = [];

  constructor(db: Queryable) {
    this.db = db;
  }

  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }> {
    this.texts.push(text);
    const answer = this.fault === null ? this.db.query(text, values) : Promise.reject(this.fault);
    this.running.push(answer.catch(() => undefined));
    return answer;
  }

  /** Waits until every statement that was sent has been answered, and its answer been read. */
  async idle(): Promise<void> {
    while (this.running.length > 0) {
      await Promise.all(this.running.splice(0));
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  count(what: string): number {
    return this.texts.filter((text) => text.includes(what)).length;
  }
}
