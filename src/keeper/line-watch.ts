/**
 * Looks for the first line of some output that fits a pattern, and says so once. What is kept of a line that does not
 * end is bounded, and a line is looked at before it has ended: a program may wait for something right behind its word.
 */
const LINE_MAX = 16_384;

export class LineWatch {
  private readonly pattern: RegExp;
  private readonly found: () => void;
  private readonly decoder = new TextDecoder();
  private rest = '';
  private isOver = false;

  constructor(pattern: RegExp, found: () => void) {
    this.pattern = pattern;
    this.found = found;
  }

  read(bytes: Uint8Array): void {
    if (this.isOver) return;
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split(/[\r\n]/);
    for (const line of lines) {
      if (!this.pattern.test(line.slice(-LINE_MAX))) continue;
      this.isOver = true;
      this.rest = '';
      this.found();
      return;
    }
    this.rest = lines.at(-1)!.slice(-LINE_MAX);
  }
}
