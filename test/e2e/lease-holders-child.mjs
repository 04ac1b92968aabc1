// A holder in a process of its own, for lease-holders.test.ts. It takes a lease or a guard, says on standard output what
// happens to it, one JSON object a line, and does what it is told on standard input: block its event loop, or write.
import { createInterface } from 'node:readline';
import { connect } from '../../dist/index.js';

const { url, name, holder, ttl, guards } = JSON.parse(process.argv[2]);
const lh = await connect(url);

function say(word) {
  process.stdout.write(`${JSON.stringify(word)}\n`);
}

/** Nothing of this process runs meanwhile, timers least of all. */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function isHeld(lease) {
  try {
    lease.assertHeld();
    return { is: 'held', leaseSeq: lease.leaseSeq };
  } catch ({ code, details }) {
    return { is: 'not held', code, details };
  }
}

/**
 * Once through the handle, which knows that the lease is lost, and once past it, as a program would that does not
 * know.
 */
async function write(lease, value) {
  const byHandle = await lease.write(value).catch(({ code, details }) => ({ code, details }));
  const { leaseSeq: lease_seq } = lease;
  const past = await lh.call('object.write', { object_id: name, value, lease: { lease_seq } });
  say({ is: 'wrote', byHandle, past: past.ok ? { version: past.version } : { code: past.code } });
}

async function obey(lease, [order, argument]) {
  if (order === 'block') {
    block(argument);
    // Before anything else had a chance to run.
    say(isHeld(lease));
  } else if (order === 'write') await write(lease, argument);
}

async function hold(lease) {
  say(isHeld(lease));
  lease.signal.addEventListener('abort', () => {
    const { code, details } = lease.signal.reason;
    say({ is: 'lost', code, details });
  });
  for await (const line of createInterface({ input: process.stdin })) await obey(lease, JSON.parse(line));
}

const options = { ttl, ...(holder === undefined ? {} : { holder }) };
try {
  if (guards) await lh.guard(name, options, hold);
  else await hold(await lh.acquire(name, options));
} catch ({ code, message }) {
  say({ is: 'refused', code, message });
}
await lh.close();
