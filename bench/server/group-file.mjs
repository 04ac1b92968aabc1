/** A file whose bytes are synced in groups: what comes while a write is on its way is written together with the next. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const BYTES = 256 * 1024 * 1024;

export async function groupFile(path) {
  // Written before, so that a sync changes no metadata.
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
  /** Resolves once the text is durable. */
  return (text) =>
    new Promise((resolve) => {
      waiting.push({ text, resolve });
      if (!isBusy) setImmediate(flush);
    });
}
