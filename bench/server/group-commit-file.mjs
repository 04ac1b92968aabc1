/** A file with group commit: texts that arrive during a write are written together with the next one. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const BYTES = 256 * 1024 * 1024;

export async function groupFile(path) {
  // Preallocated, so that a sync changes no metadata.
  const blank = await open(path, 'w');
  await blank.write(Buffer.alloc(BYTES));
  await blank.sync();
  await blank.close();
  const file = await open(path, constants.O_RDWR | constants.O_DSYNC);
  let waiting = [];
  let offset = 0;
  let isBusy = false;
  const flush = async () => {
    if (isBusy) return;
    isBusy = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const bytes = Buffer.from(group.map(({ text }) => text).join(''));
      await file.write(bytes, 0, bytes.length, offset);
      offset = (offset + bytes.length) % (BYTES / 2);
      for (const { resolve } of group) resolve();
    }
    isBusy = false;
  };
  /** Resolves when the text is durable. */
  return (text) =>
    new Promise((resolve) => {
      waiting.push({ text, resolve });
      if (!isBusy) setImmediate(flush);
    });
}
