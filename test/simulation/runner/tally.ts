// Counts what was run, and says so: one line that is written over while it grows, and a summary at the end.
import type { Outcome } from './run-plan.ts';

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Without a terminal a line stays where it is, so there are fewer. */
const LINE_EVERY_MS = 10_000;

export class Tally {
  private readonly output: Output;
  private readonly fromMs = performance.now();
  private readonly seen = new Map<string, number>();
  private lineMs = 0;
  private seeds = 0;
  private failed = 0;
  private simMs = 0;
  private calls = 0;
  private faults = 0;

  constructor(output: Output) {
    this.output = output;
  }

  add({ seed, findings, counts, seen }: Outcome): void {
    this.seeds += 1;
    if (findings.length > 0) this.failed += 1;
    this.simMs += counts.simMs;
    this.calls += counts.calls;
    this.faults += counts.faults;
    for (const [fault, times] of Object.entries(seen))
      this.seen.set(fault, (this.seen.get(fault) ?? 0) + times);
    const start = this.output.isTTY === true ? '\r\u001b[K' : '';
    // Shown at once: during an hour-long run the user wants to look into a failure immediately.
    for (const { checker, says } of findings.slice(0, 1))
      this.output.write(`${start}seed ${seed} FAILED: ${checker}: ${says}\n`);
    if (this.output.isTTY === true) this.output.write(start + this.line(seed));
    else if (performance.now() - this.lineMs > LINE_EVERY_MS) {
      this.lineMs = performance.now();
      this.output.write(`${this.line(seed)}\n`);
    }
  }

  end(): void {
    if (this.output.isTTY === true) this.output.write('\n');
  }

  summary(): string {
    const seconds = Math.round((performance.now() - this.fromMs) / 1000);
    const kinds = [...this.seen].sort(([a], [b]) => (a < b ? -1 : 1));
    const faults = kinds.map(([fault, times]) => `${fault} ${times}`).join(', ');
    return [
      `${this.seeds} seeds in ${seconds} s, ${this.failed} failed: ${this.hours()} simulated hours, ${this.calls} calls, ${this.faults} faults`,
      ...(faults === '' ? [] : [`faults: ${faults}`]),
    ].join('\n');
  }

  private line(seed: number): string {
    const failed = this.failed === 0 ? '' : `, ${this.failed} FAILED`;
    return `${this.seeds} seeds${failed}, ${this.hours()} simulated hours, ${this.faults} faults; last seed ${seed}`;
  }

  private hours(): string {
    return (this.simMs / 3_600_000).toFixed(1);
  }
}
