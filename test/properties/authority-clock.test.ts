// The authority's time in worlds whose machine sleeps, whose wall clock is set and drifts, whose process stops, and whose
// kernel measures a suspend wrongly by up to a second. Whatever happens, between two readings it gains at most 1 % on real
// time, so that no holder relies on a lease that is over; it never goes back, over restarts included; and what it has lost
// by a suspend it has again after the first reading, but for a second.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuthorityClock } from '../../src/authority/authority-clock.ts';
import { Deadline } from '../../src/seams/deadline.ts';

const NONE = { nowMs: () => null };
const START_MS = 1_767_225_600_000;
/** The authority's time is told in whole milliseconds. */
const ROUNDING_MS = 1;

/** A machine: real time, and what its clocks make of it. */
class Machine {
  realMs = 0;
  monotonicMs = 50_000;
  wallMs = START_MS;
  suspendedMs = 0;
  /** How often the uptime was read. */
  uptimeReads = 0;

  readonly clock = {
    wallMs: () => Math.floor(this.wallMs),
    monotonicMs: () => this.monotonicMs,
    uptimeMs: () => {
      this.uptimeReads += 1;
      return Math.floor((this.monotonicMs + this.suspendedMs) / 10) * 10;
    },
  };

  /** Both clocks run at one rate, as a time service sets it. */
  run(ms: number, wallPpm = 0): void {
    this.realMs += ms;
    this.monotonicMs += ms;
    this.wallMs += ms * (1 + wallPpm / 1e6);
  }

  suspend(ms: number, errorMs: number): void {
    const measuredMs = Math.max(0, ms + errorMs);
    this.realMs += ms;
    this.wallMs += measuredMs;
    this.suspendedMs += measuredMs;
  }
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('run' as const), ms: fc.integer({ min: 0, max: 20_000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('idle' as const), ms: fc.integer({ min: 0, max: 7_200_000 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('suspend' as const),
      ms: fc.integer({ min: 1, max: 8 * 3_600_000 }),
      errorMs: fc.integer({ min: -989, max: 989 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      ms: fc.integer({ min: -7_200_000, max: 7_200_000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('drift' as const), ms: fc.integer({ min: 0, max: 600_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('restart' as const), ms: fc.integer({ min: 0, max: 60_000 }) }),
  },
);

type Step = (typeof step extends fc.Arbitrary<infer T> ? T : never) & { readonly errorMs?: number };

function happen(machine: Machine, { kind, ms, errorMs = 0 }: Step): void {
  if (kind === 'suspend') machine.suspend(ms, errorMs);
  else if (kind === 'set') machine.wallMs += ms;
  else machine.run(ms, kind === 'drift' ? 400 : 0);
}

describe("the authority's time", () => {
  it('gains at most 1 % on real time between any two readings of a process', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const machine = new Machine();
        let clock = new AuthorityClock(machine.clock, 0, NONE);
        let readings = [{ realMs: 0, atMs: clock.nowMs() }];
        for (const one of steps) {
          happen(machine, one);
          if (one.kind === 'restart') {
            clock = new AuthorityClock(machine.clock, readings.at(-1)!.atMs, NONE);
            readings = [];
          }
          const atMs = clock.nowMs();
          for (const before of readings) {
            const mostMs = (machine.realMs - before.realMs) * 1.01;
            expect(atMs - before.atMs).toBeLessThanOrEqual(mostMs + ROUNDING_MS);
          }
          readings.push({ realMs: machine.realMs, atMs });
        }
      }),
      { numRuns: 500 },
    );
  });

  it('never goes back, over restarts included', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const machine = new Machine();
        let clock = new AuthorityClock(machine.clock, 0, NONE);
        let lastMs = clock.nowMs();
        for (const one of steps) {
          happen(machine, one);
          if (one.kind === 'restart') clock = new AuthorityClock(machine.clock, lastMs, NONE);
          const nowMs = clock.nowMs();
          expect(nowMs).toBeGreaterThanOrEqual(lastMs);
          lastMs = nowMs;
        }
      }),
      { numRuns: 500 },
    );
  });

  it('ends no lease before its holder, on another machine, stops relying on it', () => {
    const ttl = fc.integer({ min: 10, max: 3_600_000 });
    fc.assert(
      fc.property(fc.array(fc.tuple(step, ttl), { maxLength: 30 }), (steps) => {
        const machine = new Machine();
        const clock = new AuthorityClock(machine.clock, 0, NONE);
        let leases: { deadline: Deadline; expiresAtMs: number }[] = [];
        const holder = () => ({ monotonicMs: () => machine.realMs, wallMs: () => machine.realMs });
        for (const [one, ttlMs] of steps) {
          if (one.kind === 'restart') continue;
          const sent = { monotonicMs: machine.realMs, wallMs: machine.realMs };
          happen(machine, one);
          const nowMs = clock.nowMs();
          for (const { deadline, expiresAtMs } of leases) {
            if (nowMs >= expiresAtMs) expect(deadline.isOver(holder())).toBe(true);
          }
          leases = leases.filter(({ expiresAtMs }) => nowMs < expiresAtMs);
          leases.push({ deadline: new Deadline(sent, ttlMs), expiresAtMs: nowMs + ttlMs });
        }
      }),
      { numRuns: 500 },
    );
  });

  it('has counted a suspend at its first reading, but for two seconds at most, and then agrees with the wall clock', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2_000, max: 8 * 3_600_000 }),
        fc.integer({ min: -989, max: 989 }),
        (ms, errorMs) => {
          const machine = new Machine();
          const clock = new AuthorityClock(machine.clock, 0, NONE);
          machine.suspend(ms, errorMs);
          expect(clock.aheadMs()).toBeLessThanOrEqual(0);
          expect(clock.aheadMs()).toBeGreaterThan(-1_012);
          machine.run(110_000);
          clock.nowMs();
          expect(Math.abs(clock.aheadMs())).toBeLessThanOrEqual(ROUNDING_MS);
        },
      ),
    );
  });

  it('reads the uptime once a second at most while nothing happens', () => {
    const machine = new Machine();
    const clock = new AuthorityClock(machine.clock, 0, NONE);
    for (let count = 0; count < 10_000; count++) {
      machine.run(1);
      clock.nowMs();
    }
    expect(machine.uptimeReads).toBeLessThanOrEqual(11);
  });
});
