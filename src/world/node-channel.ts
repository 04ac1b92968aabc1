/**
 * Messages between a process and its child, as JSON lines over descriptor 3. Messages stay readable after the sender
 * is gone, and the end comes after them. Node's own channel drops messages that arrive before a listener is attached;
 * a keeper must not lose any.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const DESCRIPTOR = 3;

export interface Channel {
  /** Lost when the other side is gone. */
  send(message: object): void;
  close(): void;
}

export function openChannel(
  stream: Duplex,
  received: (message: unknown) => void,
  ended: () => void,
): Channel {
  let text = '';
  let isOpen = true;
  const end = (): void => {
    if (!isOpen) return;
    isOpen = false;
    stream.destroy();
    ended();
  };
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    const lines = (text + piece).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) received(JSON.parse(line));
  });
  // A killed peer may leave a broken pipe or a reset. Both mean that it is gone.
  stream.once('error', end);
  stream.once('end', end);
  stream.once('close', end);
  return {
    send(message) {
      if (isOpen) stream.write(`${JSON.stringify(message)}\n`);
    },
    close: end,
  };
}

/** The channel to the parent process. */
export function openParentChannel(received: (message: unknown) => void, ended: () => void): Channel {
  return openChannel(new Socket({ fd: DESCRIPTOR }), received, ended);
}
