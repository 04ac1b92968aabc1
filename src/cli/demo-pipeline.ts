/**
 * The pipeline of the profile `demo`: a program that only prints a line every second, until it is asked to end. It
 * shows the environment of a pipeline, and replaces a real one where there is none.
 */
import { systemTimers } from '../world/system-clock.ts';

const TICK_MS = 1_000;

const [target = ''] = process.argv.slice(2);
const { LEASEHOLD_SESSION_ID = '', LEASEHOLD_SLOT = '', LEASEHOLD_LEASE_SEQ = '' } = process.env;
const hold = systemTimers.hold();
let ticks = 0;

function tick(): void {
  ticks += 1;
  console.log(`tick ${ticks}`);
  systemTimers.after(TICK_MS, tick);
}

process.once('SIGTERM', () => {
  console.log(`asked to end after ${ticks} ticks`);
  hold.cancel();
});
console.log(
  `ready: ${LEASEHOLD_SESSION_ID} shows ${target} on slot ${LEASEHOLD_SLOT} under ${LEASEHOLD_LEASE_SEQ}`,
);
systemTimers.after(TICK_MS, tick);
