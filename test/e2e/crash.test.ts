// Real processes, really killed: no acknowledged change is ever missing.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const CHILD = fileURLToPath(new URL('./crash-child.mjs', import.meta.url));

let dir: string;
let ledger: string[];
let running: ChildProcess | null;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-crash-'));
  ledger = [];
  running = null;
});

afterEach(() => {
  running?.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

interface Life {
  readonly lines: string[];
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly errors: string;
}

/** One life of the process: `onLine` may end it. All it acknowledged goes into the ledger for the next one to check. */
async function live(
  round: number,
  more: Record<string, string>,
  onLine: (line: string, child: ChildProcess) => void,
): Promise<Life> {
  const ledgerFile = join(dir, 'ledger');
  writeFileSync(ledgerFile, ledger.join('\n'));
  const env = { ...process.env, LEDGER: ledgerFile, ...more };
  const child = spawn(process.execPath, [CHILD, join(dir, 'data'), String(round)], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running = child;
  const lines: string[] = [];
  let errors = '';
  child.stderr.on('data', (bytes) => {
    errors += bytes;
  });
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => {
    lines.push(line);
    if (/^(created|completed|leased|wrote) /.test(line)) ledger.push(line);
    onLine(line, child);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.on('close', (...end) => resolve(end));
  });
  running = null;
  return { lines, signal, code, errors };
}

function expectKilled({ lines, signal, errors }: Life): void {
  const missing = lines.filter((line) => line.startsWith('missing') || line.startsWith('fault'));
  expect({ missing, errors, signal }).toEqual({ missing: [], errors: '', signal: 'SIGKILL' });
}

/** A small generator with a fixed seed, so that every run kills at the same points. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A hundred starts, on a machine that may have other things to do, other tests among them. */
const LONG_MS = 600_000;

describe('kill -9 under load', () => {
  it(
    'a hundred times over loses no acknowledged change, and lease_seq never goes down',
    async () => {
      const random = seeded(20);
      for (let round = 0; round < 100; round++) {
        const after = 1 + Math.floor(random() * 150);
        let acknowledged = 0;
        const life = await live(round, { ACKNOWLEDGED_MAX: '300' }, (line, child) => {
          if (!/^(created|completed|wrote) /.test(line)) return;
          acknowledged += 1;
          if (acknowledged === after) child.kill('SIGKILL');
        });
        expectKilled(life);
        expect(life.lines[0]).toMatch(/^verified \d+$/);
      }
      const highest = new Map<string, number>();
      for (const line of ledger.filter((each) => each.startsWith('leased'))) {
        const [, name, seq] = line.split(' ');
        expect(Number(seq)).toBeGreaterThan(highest.get(name!) ?? 0);
        highest.set(name!, Number(seq));
      }
    },
    LONG_MS,
  );
});

describe('a process killed at a named point', () => {
  for (const point of ['before-append', 'torn-write', 'after-sync']) {
    it(`${point}: everything acknowledged is there at the next start`, async () => {
      for (const count of [3, 10, 40]) {
        expectKilled(await live(count, { KILL: `${point}:${count}` }, () => undefined));
      }
      await verifyOnly();
    });
  }

  it('during replay: the next start finds everything', async () => {
    await killAfter(300);
    for (const count of [1, 2, 3]) {
      const { signal } = await live(count, { KILL: `replay:${count}` }, () => undefined);
      expect(signal).toBe('SIGKILL');
    }
    await verifyOnly();
  });

  it('inside compaction: the next start finds everything', { timeout: LONG_MS }, async () => {
    for (let round = 0; round < 5; round++) {
      const data = join(dir, 'data');
      if (round === 0) await killAfter(10);
      const unfinished = (): string[] => readdirSync(data).filter((name) => name.endsWith('.tmp'));
      // What the life before left behind is no compaction of this one, until it has been cleared away.
      let old = unfinished();
      const watcher = watch(data, () => {
        const found = unfinished();
        if (found.some((name) => !old.includes(name))) running?.kill('SIGKILL');
        old = old.filter((name) => found.includes(name));
      });
      try {
        expectKilled(await live(round + 100, {}, () => undefined));
      } finally {
        watcher.close();
      }
    }
    await verifyOnly();
  });
});

async function killAfter(acknowledgements: number): Promise<void> {
  let seen = 0;
  const life = await live(0, {}, (_, child) => {
    seen += 1;
    if (seen === acknowledgements) child.kill('SIGKILL');
  });
  expectKilled(life);
}

async function verifyOnly(): Promise<void> {
  const before = ledger.length;
  const life = await live(999, {}, (line, child) => {
    if (line.startsWith('verified')) child.kill('SIGKILL');
  });
  expectKilled(life);
  expect(life.lines[0]).toBe(`verified ${before}`);
}
