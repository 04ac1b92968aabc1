// The idea of the whole system in plain JavaScript: one log, whose positions are the fencing numbers. A wish is decided
// against the state, the fact is made durable, and only then applied and answered. Nothing else changes the state, so
// replaying the log gives it back. What the real thing adds is named at the end.
//
//   node examples/sketch.mjs [DIR]
import { fsyncSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-sketch-'));
mkdirSync(dir, { recursive: true });
const file = join(dir, 'sketch.log');
const log = openSync(file, 'a');
let state = replay();

/** What is true, a wish, the time: one fact, or a refusal. No clock, no chance, no writes. */
function decide({ seq, leases }, wish, now) {
  const lease = leases[wish.name];
  const isLive = lease !== undefined && now < lease.expires_at;
  if (wish.type === 'acquire') {
    if (isLive) return { refused: 'LEASE_HELD', holder: lease.holder };
    return { type: 'NameLeased', name: wish.name, holder: wish.holder, expires_at: now + wish.ttl_ms };
  }
  if (wish.lease_seq < (lease?.lease_seq ?? seq + 1)) return { refused: 'WRITE_STALE_FENCE' };
  if (wish.lease_seq > (lease?.lease_seq ?? seq)) return { refused: 'WRITE_UNKNOWN_FENCE' };
  if (!isLive) return { refused: 'LEASE_EXPIRED' };
  return { type: 'ObjectWritten', name: wish.name, value: wish.value };
}

/** A fact, applied. No choice is left here, so replay makes none: the grant's position is its fencing number. */
function apply({ seq, leases, objects }, { type, name, holder, expires_at, value }) {
  if (type === 'NameLeased') leases = { ...leases, [name]: { lease_seq: seq + 1, holder, expires_at } };
  if (type === 'ObjectWritten') objects = { ...objects, [name]: value };
  return { seq: seq + 1, leases, objects };
}

/** Decide, make durable, apply, answer: in this order, and one wish at a time. */
function ask(wish, now) {
  const fact = decide(state, wish, now);
  if (fact.refused) return fact;
  writeSync(log, `${JSON.stringify(fact)}\n`);
  fsyncSync(log);
  state = apply(state, fact);
  return { seq: state.seq };
}

function replay() {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line)).reduce(apply, { seq: 0, leases: {}, objects: {} });
}

// Time is an argument: the story takes ten seconds and no time at all.
const start = Math.max(0, ...Object.values(state.leases).map(({ expires_at }) => expires_at));
const show = (what, reply) => console.log(what.padEnd(28), JSON.stringify(reply));
const anna = ask({ type: 'acquire', name: 'door', holder: 'anna', ttl_ms: 5_000 }, start);
show('anna acquires', anna);
show('boris acquires', ask({ type: 'acquire', name: 'door', holder: 'boris', ttl_ms: 5_000 }, start + 1_000));
const boris = ask({ type: 'acquire', name: 'door', holder: 'boris', ttl_ms: 5_000 }, start + 6_000);
show('boris acquires, later', boris);
show(
  'boris writes',
  ask({ type: 'write', name: 'door', lease_seq: boris.seq, value: 'blue' }, start + 7_000),
);
show(
  'anna writes, too late',
  ask({ type: 'write', name: 'door', lease_seq: anna.seq, value: 'red' }, start + 8_000),
);
show('the object', state.objects.door);
show('replay gives the same state', JSON.stringify(replay()) === JSON.stringify(state));
// Missing here, and most of the work: tasks, tokens, waiting lines, expiry as a fact of its own, many wishes in one sync,
// checksums, torn tails, a lock on the directory, checkpoints, forgetting.
