/**
 * Reports the first line of some output that matches a pattern, once. The buffer for an unfinished line is bounded. A
 * line is tested before it ends: a program may print its ready message without a newline and wait.
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
