// A server that is killed between decision and answer, again and again, while live connections are busy: half of the times before
// what it decided is on the disk, half of the times after. What was acknowledged is there at every next start, what was
// not is asked again and done once, nothing is answered twice, and leases end by time only.
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Operation } from '../../src/operations/table.ts';
import { type Body, CliBench } from '../support/cli-processes.ts';
import { LiveWire } from '../support/live-wire.ts';

const HOOK = fileURLToPath(new URL('./disk-hook.mjs', import.meta.url));
const LIVES = 12;
const CHAINS = 8;
const TTL_MS = 3_600_000;

const bench = new CliBench();
afterEach(() => bench.close());

/** The next operation of a chain, until it is answered: create, acquire, lease, complete, and from the beginning. */
interface Chain {
  readonly index: number;
  round: number;
  step: number;
  leaseId: string;
}

/** What was acknowledged. */
interface Ledger {
  readonly created: Set<string>;
  readonly completed: Set<string>;
  /** The number of each lease that was granted, by its name. */
  readonly held: Map<string, number>;
  readonly duplicates: number[];
}

describe('a server that is killed between decision and answer', () => {
  it('loses nothing that it acknowledged, and does once what is asked again', {
    timeout: 300_000,
  }, async () => {
    const chains = Array.from({ length: CHAINS }, (_, index) => ({ index, round: 0, step: 0, leaseId: '' }));
    const ledger: Ledger = { created: new Set(), completed: new Set(), held: new Map(), duplicates: [] };
    for (let life = 0; life < LIVES; life++) {
      // Far enough to have opened its log and answered some.
      const writes = String(28 + ((life * 7) % 23));
      const point = life % 2 === 0 ? { KILL_INSTEAD_OF_WRITE: writes } : { KILL_AFTER_WRITE: writes };
      const env: Record<string, string> = { NODE_OPTIONS: `--import=${HOOK}`, ...point };
      const isUp = await bench.serve(env).then(
        () => true,
        () => false,
      );
      // It may be killed before it listens.
      if (!isUp) continue;
      await live(chains, ledger);
      expect(await bench.serverEnded()).toMatchObject({ signal: 'SIGKILL' });
    }
    await bench.serve();
    await verify(ledger);
    // Both kinds of death were met: work was lost before its answer, and work was done that only the repetition told of.
    expect(ledger.completed.size).toBeGreaterThan(LIVES);
    expect(ledger.duplicates.length).toBeGreaterThan(0);
  });
});

/** Opens one connection for all chains, verifies what earlier ones were told, and works until it breaks. */
async function live(chains: readonly Chain[], ledger: Ledger): Promise<void> {
  const wire = await LiveWire.open(Number(new URL(bench.url).port)).catch(() => null);
  if (wire === null) return;
  await Promise.all(chains.map((chain) => work(wire, chain, ledger)));
  await wire.closed;
  const answers = wire.frames.flatMap((frame) => frame.slice(2) as unknown[][]);
  const ids = answers.map(([id]) => id).filter((id) => typeof id === 'number');
  expect(new Set(ids).size).toBe(ids.length);
  expect(wire.told).toEqual([]);
}

async function work(wire: LiveWire, chain: Chain, ledger: Ledger): Promise<void> {
  for (;;) {
    const id = `c${chain.index}-r${chain.round}`;
    const [operation, request] = requestOf(chain, id);
    const item = await wire.ask(operation, request).catch(() => null);
    // Not answered: it is asked again in the next life, word for word.
    if (item === null) return;
    const [, status, body] = item as [number, number, Body];
    expect([200, 201], JSON.stringify(body)).toContain(status);
    if (body.duplicate === true) ledger.duplicates.push(chain.step);
    acknowledge(chain, id, body, ledger);
    chain.step = (chain.step + 1) % 4;
    if (chain.step === 0) chain.round += 1;
  }
}

function requestOf({ index, step, leaseId }: Chain, id: string): readonly [Operation, object] {
  const token = `token-of-${id}-`.padEnd(32, 'x');
  const queue = `q${index}`;
  if (step === 0) return ['task.create', { task_id: id, payload: id, queue }];
  if (step === 1) return ['lease.acquire', { name: id, holder: 'h', token, ttl_ms: TTL_MS }];
  if (step === 2) {
    return ['task.lease', { worker_id: `w${index}`, queues: [queue], ttl_ms: TTL_MS, request_id: id }];
  }
  return ['task.complete', { task_id: id, lease_id: leaseId, result: id }];
}

function acknowledge(chain: Chain, id: string, body: Body, ledger: Ledger): void {
  if (chain.step === 0) ledger.created.add(id);
  else if (chain.step === 1) ledger.held.set(id, body.lease_seq);
  else if (chain.step === 2) {
    // The same lease as the first time, or the first: never none, and never another task.
    expect(body.leases).toMatchObject([{ task_id: id, attempt: 1 }]);
    chain.leaseId = body.leases[0].lease_id;
  } else {
    expect(body.outcome).toBe('COMMITTED');
    ledger.completed.add(id);
  }
}

/** By the state, and by the log: each thing once, and no lease has ended. */
async function verify({ created, completed, held }: Ledger): Promise<void> {
  const text = await (await fetch(`${bench.url}/v1/log?from=1&limit=10000`)).text();
  const entries: Body[] = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const count = (type: string, field: string, value: string) =>
    entries.filter((entry) => entry.type === type && entry[field] === value).length;
  for (const id of created) expect([id, count('TaskCreated', 'task_id', id)]).toEqual([id, 1]);
  for (const id of completed) {
    expect([id, count('LeaseGranted', 'task_id', id), count('TaskCompleted', 'task_id', id)]).toEqual([
      id,
      1,
      1,
    ]);
  }
  const live: Body[] = (await bench.get('/v1/leases?limit=1000')).leases;
  const numbers = new Map(live.map(({ name, lease_seq }) => [name, lease_seq]));
  for (const [name, seq] of held) expect([name, numbers.get(name)]).toEqual([name, seq]);
  const ends = ['NameReleased', 'NameExpired', 'NameBroken', 'LeaseExpired', 'TaskReleased'];
  expect(entries.filter(({ type }) => ends.includes(type))).toEqual([]);
}
