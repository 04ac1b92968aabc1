// Fifty thousand frames that no client would send, from one seed: mutated operations, mutated JSON, and noise. Whatever comes,
// the server answers each operation once or closes the connection with a code of its own, and says nothing went wrong inside.
import { afterAll, expect, it } from 'vitest';
import { OPERATION_NAMES, OPERATIONS } from '../../src/operations/table.ts';
import { requestText } from '../../src/protocol/live-frames.ts';
import type { LiveWire } from '../support/live-wire.ts';
import { startServed, stopAllServed } from '../support/served.ts';

afterAll(stopAllServed);

const FRAMES = 50_000;
const SEED = 24;

/** The constants of Numerical Recipes; good enough for mischief. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const below = randomFrom(SEED);
const pick = <T>(from: readonly T[]): T => from[below(from.length)]!;
const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  2 ** 53,
  1e308,
  '',
  'x',
  '\u0000',
  '\ud800',
  '"',
  '[]',
  '{}',
  '7',
  'x'.repeat(300),
  [],
  [[]],
  {},
  { a: 1 },
  { __proto__: 1 },
  'system:x',
  'constructor',
  '__proto__',
];
const EXAMPLES = OPERATION_NAMES.map((name) => {
  const { wait_ms: _, ...request } = OPERATIONS[name].example.request as Record<string, unknown>;
  return [name, JSON.parse(requestText(request)!) as Record<string, unknown>] as const;
});

function operation(id: number): unknown[] {
  const [name, example] = pick(EXAMPLES);
  const request: Record<string, unknown> = { ...example };
  const fields = [...Object.keys(request), 'surprise', '__proto__', 'wait_ms'];
  for (let count = below(3); count > 0; count--) {
    const field = pick(fields);
    if (below(4) === 0) delete request[field];
    else Object.defineProperty(request, field, { value: pick(VALUES), enumerable: true, configurable: true });
  }
  // A long wait would only be waited for.
  if (typeof request.wait_ms === 'number' && request.wait_ms > 0) delete request.wait_ms;
  const item: unknown[] = [id, name, request];
  if (below(10) === 0) item[1] = pick(VALUES);
  if (below(10) === 0) item[2] = pick(VALUES);
  if (below(20) === 0) item.push(pick(VALUES));
  return item;
}

/** Mostly whole frames; one in a hundred is broken in itself. */
function frame(id: number): string | Buffer {
  const kind = below(200);
  const items: unknown[] = Array.from({ length: 1 + below(3) }, (_, index) => operation(id + index));
  if (below(10) === 0) items.push([pick(['end', 'ping', 'token']), below(id + 1)]);
  const text = JSON.stringify(items);
  if (kind === 0) return text.slice(0, below(text.length));
  if (kind === 1) return Buffer.from(text);
  if (kind === 2) return JSON.stringify(pick(VALUES)) ?? '';
  if (kind === 3) return JSON.stringify([pick(VALUES), ...items]);
  return text;
}

it(`survives ${FRAMES} frames of seed ${SEED}, and answers like before`, async () => {
  const served = await startServed();
  let wire: LiveWire = await served.live();
  const codes = new Set<number>();
  for (let sent = 0; sent < FRAMES; sent++) {
    if (wire.ws.readyState !== wire.ws.OPEN) {
      codes.add((await wire.closed).code);
      wire = await served.live();
    }
    wire.ws.send(frame(4 * sent));
    if (sent % 200 === 199) {
      const before = wire.told.length;
      wire.send(['ping', sent]);
      await Promise.race([wire.until(() => wire.told.length > before), wire.closed]);
    }
  }
  wire.close();
  expect([...codes].sort()).toEqual([4400]);
  expect(served.troubles).toEqual([]);
  const last = await served.live();
  expect(await last.call('task.create', { payload: 1 })).toMatchObject({ status: 201 });
  const ids = last.frames.flatMap((each) => each.slice(2).map((item) => (item as unknown[])[0]));
  expect(new Set(ids).size).toBe(ids.length);
});
