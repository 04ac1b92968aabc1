// A live connection as a test wants it: frames as they are, operations by name, what was told, and how it ended.
import { WebSocket } from 'ws';
import type { Operation } from '../../src/operations/table.ts';
import { LIVE_PATH, LIVE_PROTOCOL, requestText } from '../../src/protocol/live-frames.ts';
import type { Body } from './served.ts';

export interface LiveOptions {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocol?: string;
  readonly scheme?: 'ws' | 'wss';
  readonly ca?: string;
}

export interface LiveReply {
  readonly id: number;
  readonly status: number;
  /** As it came: opaque values are texts. */
  readonly body: Body;
}

export class LiveWire {
  readonly ws: WebSocket;
  /** Everything that came, whole frames. */
  readonly frames: unknown[][] = [];
  readonly told: unknown[][] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  private lastId = 0;
  private readonly waiting = new Map<number, (item: readonly unknown[] | null) => void>();
  private wake: () => void = () => undefined;

  /** Resolves when the server has said hello; rejects with the status of a refusal. */
  static async open(port: number, options: LiveOptions = {}): Promise<LiveWire> {
    const wire = LiveWire.begin(port, options);
    await Promise.race([
      wire.until(() => wire.frames.length > 0),
      wire.closed.then(({ code, reason }) => Promise.reject(new Error(`closed with ${code} ${reason}`))),
    ]);
    return wire;
  }

  /** Without waiting for anything. */
  static begin(
    port: number,
    { token, headers = {}, protocol, scheme = 'ws', ca }: LiveOptions = {},
  ): LiveWire {
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return new LiveWire(
      new WebSocket(`${scheme}://127.0.0.1:${port}${LIVE_PATH}`, protocol ?? LIVE_PROTOCOL, {
        headers: { ...bearer, ...headers },
        perMessageDeflate: false,
        ...(ca === undefined ? {} : { ca }),
      }),
    );
  }

  private constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on('message', (data) => this.take(JSON.parse(String(data)) as unknown[]));
    // Every error is followed by the end.
    ws.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      ws.on('close', (code, reason) => {
        for (const answer of this.waiting.values()) answer(null);
        this.wake();
        resolve({ code, reason: String(reason) });
      });
    });
  }

  private take(frame: unknown[]): void {
    this.frames.push(frame);
    for (const item of frame.slice(2) as unknown[][]) {
      const [first] = item;
      if (typeof first !== 'number') this.told.push(item);
      else {
        this.waiting.get(first)?.(item);
        this.waiting.delete(first);
      }
    }
    this.wake();
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  send(...items: readonly unknown[]): void {
    this.ws.send(JSON.stringify(items));
  }

  /** The item that answers it; null when the connection ended before. */
  async ask(operation: string, fields: object, requestId?: string): Promise<readonly unknown[] | null> {
    const id = ++this.lastId;
    const answer = new Promise<readonly unknown[] | null>((resolve) => this.waiting.set(id, resolve));
    const more = requestId === undefined ? '' : `,${JSON.stringify(requestId)}`;
    this.ws.send(
      `[[${id},${JSON.stringify(operation)},${requestText(fields as Record<string, unknown>)}${more}]]`,
    );
    return answer;
  }

  async call(operation: Operation, fields: object = {}, requestId?: string): Promise<LiveReply> {
    const item = await this.ask(operation, fields, requestId);
    if (item === null) throw new Error('The connection was closed.');
    const [id, status, body] = item as [number, number, Body];
    return { id, status, body };
  }

  close(): void {
    this.ws.terminate();
  }
}
