/** Shared by the drivers: their arguments, the same payload of 256 bytes, and the result line. */
import process from 'node:process';

const [address, count] = process.argv.slice(2);

/** The database to use, and how many tasks one mode takes. */
export const url = address;
export const tasks = Number(count);

export const data = { data: 'x'.repeat(256 - '{"data":""}'.length) };

/** Calls `work` `times` times, at most `width` concurrently; returns the milliseconds. */
export async function inFlight(times, width, work) {
  let left = times;
  const from = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left-- > 0) await work();
    }),
  );
  return performance.now() - from;
}

export function answer(mode, tasksDone, ms) {
  console.log(JSON.stringify({ mode, perSecond: (tasksDone * 1000) / ms }));
}
