/**
 * Counters of HTTP requests, as plain numbers: incremented where requests are answered, read by the metrics. They are
 * keyed by route name, never by anything a client chose, so their number is bounded.
 */
import type { RefusalCode } from '../core/refusals.ts';

/** 1xx to 5xx, by the first digit. */
const STATUS_CLASSES = 6;

export class HttpCounts {
  /** Open connections, busy or not. */
  connections = 0;
  /** Requests that have not been answered yet, long polls and followers included. */
  inFlight = 0;
  /** Connections that were closed before they had made a request. */
  early = 0;
  private readonly byOperation = new Map<string, Float64Array>();
  private readonly byCode = new Map<RefusalCode, number>();

  connected(): void {
    this.connections += 1;
  }

  disconnected(): void {
    this.connections -= 1;
  }

  began(): void {
    this.inFlight += 1;
  }

  ended(operation: string, status: number): void {
    this.inFlight -= 1;
    let classes = this.byOperation.get(operation);
    if (classes === undefined) {
      classes = new Float64Array(STATUS_CLASSES);
      this.byOperation.set(operation, classes);
    }
    classes[Math.floor(status / 100)]! += 1;
  }

  refused(code: RefusalCode): void {
    this.byCode.set(code, (this.byCode.get(code) ?? 0) + 1);
  }

  refusedEarly(): void {
    this.early += 1;
  }

  *requests(): Generator<{ operation: string; status: string; count: number }> {
    for (const [operation, classes] of this.byOperation) {
      for (const [digit, count] of classes.entries()) {
        if (count > 0) yield { operation, status: `${digit}xx`, count };
      }
    }
  }

  *refusals(): Generator<{ code: RefusalCode; count: number }> {
    for (const [code, count] of this.byCode) yield { code, count };
  }
}
