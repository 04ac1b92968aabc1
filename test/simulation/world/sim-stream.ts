/** The client's end of a streamed reply: chunks wait here until they are read. */
import type { HttpStream } from '../../../src/seams/http.ts';

export class SimStream {
  readonly opened: Promise<HttpStream>;
  /** Called when the reader stops reading. */
  whenLeft: () => void = () => {};
  #open: (stream: HttpStream) => void = () => {};
  #refuse: (fault: unknown) => void = () => {};
  readonly #chunks: string[] = [];
  #end: { readonly fault: unknown } | null = null;
  #wake: () => void = () => {};

  constructor() {
    this.opened = new Promise((resolve, reject) => {
      this.#open = resolve;
      this.#refuse = reject;
    });
  }

  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#open({ status, header: (name) => headers[name] ?? null, chunks: this.#read() });
  }

  chunk(text: string): void {
    this.#chunks.push(text);
    this.#wake();
  }

  /** Null for an end in order. */
  fail(fault: unknown): void {
    this.#end ??= { fault };
    this.#refuse(fault);
    this.#wake();
  }

  async *#read(): AsyncGenerator<string, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.#end !== null) {
          if (this.#end.fault !== null) throw this.#end.fault;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.whenLeft();
    }
  }
}
