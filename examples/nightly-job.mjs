// A job every night, once, however many hosts are ready for it: a schedule creates one task for each due time.
//
//   node examples/nightly-job.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { defineTask, open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-nightly-'));
const lh = await open(dir);

const report = defineTask('report', {
  schedule: { cron: '0 3 * * *', timeZone: 'Europe/Berlin', input: { pages: 12 } },
});
await lh.apply([report]); // once for each deployment; applying the same again changes nothing
const { nextAt } = await lh.schedules.get('report');
console.log(`The report is due at 03:00 in Berlin: the next time is ${nextAt}.`);

// Two hosts run the same program. Each due time is one task, so one of them gets it.
const ran = [];
const host = (name) =>
  lh.work(report, { workerId: name }, ({ input }) => {
    ran.push(name);
    return `${input.pages} pages`;
  });
const hosts = [host('host-a'), host('host-b')];

// We do not wait for the night: an operator may fire a schedule by hand.
const { taskId } = await lh.schedules.fire('report');
console.log('It is fired by hand, and two hosts are ready for it.');
const output = await lh.receipt(report, taskId).output({ wait: '10s' });
console.log(`It ran ${ran.length === 1 ? 'once' : `${ran.length} times`}: ${output}.`);

await Promise.all(hosts.map((each) => each.drain()));
await lh.schedules.delete('report');
await lh.close();
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });
