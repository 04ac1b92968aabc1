/**
 * Messages between a process and one that it started, as JSON, one a line, over descriptor 3. What was sent stays
 * readable when the sender is gone, and its end comes after it: Node's own channel drops what nobody listened for in
 * time, and a keeper that hears late must still hear everything.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const DESCRIPTOR = 3;

export interface Channel {
  /** Lost when the other side is gone. */
  send(message: object): void;
  close(): void;
}

export function openChannel(stream: Duplex, heard: (message: unknown) => void, ended: () => void): Channel {
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
    for (const line of lines) heard(JSON.parse(line));
  });
  // A side that is killed may leave a broken pipe or a reset behind; both mean that it is gone.
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

/** The channel to whoever started this process. */
export function openParentChannel(heard: (message: unknown) => void, ended: () => void): Channel {
  return openChannel(new Socket({ fd: DESCRIPTOR }), heard, ended);
}
