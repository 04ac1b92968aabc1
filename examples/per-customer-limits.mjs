// Limits for each customer: one import at a time for everyone, and a customer with many tasks delays no other.
//
//   node examples/per-customer-limits.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTask, open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-limits-'));
const lh = await open(dir);

const importFile = defineTask('import-file', {
  key: ({ customer }) => customer, // whom a task is for
  limits: { perKey: { concurrency: 1 } },
});

// Ada sends ten files, then Grace and Linus one each. There are workers enough for all of them.
const customers = [...Array(10).fill('ada'), 'grace', 'linus'];
for (const customer of customers) await lh.enqueue(importFile, { customer });
console.log('Ada sends 10 files, then Grace and Linus 1 each. Twelve could run at once.');

const running = new Set();
const order = [];
let mostAtOnce = 0;
const worker = lh.work(importFile, { concurrency: 12, stopWhenEmpty: true }, async ({ input }) => {
  if (running.has(input.customer)) throw new Error(`two imports of ${input.customer} at once`);
  running.add(input.customer);
  order.push(input.customer);
  mostAtOnce = Math.max(mostAtOnce, running.size);
  await sleep(20);
  running.delete(input.customer);
});
await worker.done;

console.log(`The first three to run: ${order.slice(0, 3).sort().join(', ')}. Customers take turns.`);
console.log(`At most ${mostAtOnce} ran at once, and never two of one customer: each has a limit of 1.`);
console.log(`${worker.counts.completed} completed, ${worker.counts.failed} failed.`);
await lh.close();
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });
