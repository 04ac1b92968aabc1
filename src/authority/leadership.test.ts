// The life of one process of several that can reach a log, step by step: who is asked when, what it says it is, and
// what is left behind. The log is a script that the test writes as it goes.
import { beforeEach, describe, expect, it } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { RevocableEngine } from '../../test/support/revocable-engine.ts';
import { DEFAULT_RETENTION } from '../core/retention.ts';
import {
  type Engine,
  type FollowedLog,
  type Leader,
  type Log,
  LogCompactedError,
  LogOutOfReachError,
  LogTooFarError,
  type Replay,
} from '../engines/log.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { Leadership } from './leadership.ts';
import type { Standby } from './standby.ts';

const OTHER: Leader = { holder: 'other', url: 'http://other', remainingMs: 15_000 };

class ScriptedEngine implements Engine {
  leader: Leader | null = OTHER;
  /** What the next question fails with. */
  fault: Error | null = null;
  /** While true, nothing is answered. */
  isSilent = false;
  /** Whether the guard is taken only when the test lets it. */
  isLeadSlow = false;
  letLead: () => void = () => undefined;
  follows = 0;
  looks = 0;
  closes = 0;
  hangUps = 0;
  logCloses = 0;
  /** How many began to replay and are still at it. */
  opening = 0;
  /** Fails what waits for an answer. */
  private cut: (fault: Error) => void = () => undefined;
  log = new RevocableEngine();
  /** What the next look finds in the log, in its own time. */
  news: (replay: Replay) => void | Promise<void> = () => undefined;
  /** What it finds when it begins, and what it finds at last when it takes the guard. */
  past: (replay: Replay) => void | Promise<void> = () => undefined;
  lastNews: (replay: Replay) => void = () => undefined;
  /** What taking the guard fails with. */
  leadFault: Error | null = null;

  open(): Promise<Log> {
    throw new Error('A log that is led in turn is not opened.');
  }

  async follow(replay: Replay, signal?: AbortSignal): Promise<FollowedLog> {
    this.opening += 1;
    signal?.addEventListener('abort', () => this.cut(new Error('given up')));
    await this.answer().finally(() => {
      this.opening -= 1;
    });
    this.follows += 1;
    await this.past(replay);
    return {
      position: { firstSeq: 1, lastSeq: 0, lastAtMs: 0 },
      size: { bytes: 0, files: 0 },
      catchUp: async () => {
        this.looks += 1;
        await this.answer();
        const { news } = this;
        this.news = () => undefined;
        await news(replay);
        return true;
      },
      leader: async () => this.leader,
      lead: async () => {
        await this.answer();
        this.lastNews(replay);
        if (this.leader !== null) return null;
        const { leadFault } = this;
        this.leadFault = null;
        if (leadFault !== null) throw leadFault;
        if (this.isLeadSlow) {
          await new Promise<void>((resolve) => {
            this.letLead = resolve;
          });
        }
        const log = await this.log.open(replay);
        const close = log.close.bind(log);
        log.close = () => {
          this.logCloses += 1;
          return close();
        };
        return log;
      },
      read: () => null,
      nowMs: () => null,
      hangUp: () => {
        this.hangUps += 1;
        this.cut(new Error('given up'));
      },
      close: async () => {
        this.closes += 1;
      },
    };
  }

  private async answer(): Promise<void> {
    if (this.isSilent) {
      await new Promise<never>((_, reject) => {
        this.cut = reject;
      });
    }
    const { fault } = this;
    this.fault = null;
    if (fault !== null) throw fault;
  }
}

let world: ManualWorld;
let engine: ScriptedEngine;
let leadership: Leadership;
let told: string[];
/** How long the replay of each that led had taken. */
let replays: number[];
let standbys: Standby[];
/** The entries that followers of a standby received. */
let received: number[];
/** Those that were told to be over. */
let ends: Standby[];

beforeEach(() => {
  world = new ManualWorld();
  engine = new ScriptedEngine();
  told = [];
  replays = [];
  standbys = [];
  received = [];
  ends = [];
  leadership = new Leadership(engine, {
    clock: world.clock,
    timers: world.timers,
    hashSeed: world.hashSeed,
    retention: DEFAULT_RETENTION,
    onStandby(standby, fault) {
      standbys.push(standby);
      standby.feed.follow((batch) => received.push(...batch.map(({ seq }) => seq)));
      standby.whenEnded(() => ends.push(standby));
      told.push(fault === null ? 'standby' : 'deposed');
    },
    onLead: (authority) => {
      told.push('leader');
      replays.push(authority.stats.replayMs);
    },
    onCompactionFault: (fault) => told.push(`not compacted: ${(fault as Error).message}`),
    onOutOfReach: (fault, tries) => told.push(`out of reach ${tries}: ${(fault as Error).message}`),
    onEnd: (fault) => told.push(`end: ${(fault as Error).message}`),
  });
});

const start = (): Promise<void> => world.finish(leadership.start());

const epoch = (number: number) =>
  ({ type: 'EpochStarted', epoch: number, format: 'leasehold', version: 1, restored: false }) as const;

/** Something that takes until the test lets it go. */
function held(): { until: Promise<void>; letGo: () => void } {
  let letGo = (): void => undefined;
  const until = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { until, letGo };
}

describe('a process among several', () => {
  it('leads at once when there is no leader', async () => {
    engine.leader = null;
    await start();
    expect(told).toEqual(['standby', 'leader']);
  });

  it('reads along while another leads, and leads as soon as it sees that there is no leader', async () => {
    await start();
    await world.advance(10_000);
    expect(told).toEqual(['standby']);
    expect(engine.follows).toBe(1);
    expect(engine.looks).toBeGreaterThan(40);
    engine.leader = null;
    await world.advance(200);
    expect(told).toEqual(['standby', 'leader']);
  });

  it('shows nothing as a standby any more once it leads: what it has then may not be durable yet', async () => {
    await start();
    const standby = standbys.at(-1)!;
    expect(await standby.read(({ state }) => state.lastSeq)).toBe(0);
    engine.leader = null;
    await world.advance(200);
    expect(told).toEqual(['standby', 'leader']);
    await expect(standby.read(({ state }) => state.lastSeq)).rejects.toThrow('no longer follows the log');
  });

  it('tells how long the replay took: all of it at first, and the rest when it takes the guard', async () => {
    engine.past = () => {
      world.monotonicMs += 3_000;
    };
    await world.finish(leadership.start());
    await world.advance(60_000);
    engine.leader = null;
    engine.lastNews = () => {
      world.monotonicMs += 500;
    };
    await world.advance(200);
    expect(replays).toEqual([3_500]);
  });

  it('looks at the very moment when the guard of a leader that is gone runs out', async () => {
    engine.leader = { ...OTHER, remainingMs: 30 };
    await start();
    engine.leader = null;
    await world.advance(31);
    expect(told).toEqual(['standby', 'leader']);
  });

  it('says so when the log is out of reach from the start', async () => {
    engine.fault = new Error('connection refused');
    await expect(start()).rejects.toThrow('connection refused');
  });

  it('gives the guard back when it stops, and looks no more', async () => {
    engine.leader = null;
    await start();
    await world.finish(leadership.stop());
    expect(engine.logCloses).toBe(1);
    const { looks } = engine;
    await world.advance(10_000);
    expect([engine.looks, told]).toEqual([looks, ['standby', 'leader']]);
  });

  it('stops as well while it stands by', async () => {
    await start();
    await world.finish(leadership.stop());
    expect(engine.closes).toBe(1);
    engine.leader = null;
    await world.advance(10_000);
    expect(told).toEqual(['standby']);
  });
});

describe('a follower of a standby', () => {
  it('receives every entry once, when it is read along and not when it was there before', async () => {
    engine.past = (replay) => replay.entry(epoch(1), 1, world.wallMs);
    await start();
    expect(received).toEqual([]);
    engine.news = (replay) => replay.entry(epoch(2), 2, world.wallMs);
    await world.advance(200);
    expect(received).toEqual([2]);
  });

  it('receives what is read at last, before the guard is taken', async () => {
    await start();
    engine.leader = null;
    engine.lastNews = (replay) => {
      replay.entry(epoch(1), 1, world.wallMs);
      // Another process was quicker.
      engine.leader = OTHER;
      engine.lastNews = () => undefined;
    };
    await world.advance(199);
    expect(received).toEqual([]);
    await world.advance(1);
    expect(received).toEqual([1]);
  });

  it('is told when it is over, be it for the better', async () => {
    await start();
    expect(ends).toEqual([]);
    engine.leader = null;
    await world.advance(200);
    expect(ends).toEqual(standbys);
  });
});

describe('a process that is stopped', () => {
  it('while it takes the guard gives it back once it has it', async () => {
    await start();
    engine.leader = null;
    engine.isLeadSlow = true;
    await world.advance(200);
    const stopped = leadership.stop();
    await world.settle();
    engine.letLead();
    await world.finish(stopped);
    expect(engine.logCloses).toBe(1);
  });

  it('while it reads along ends with that, and waits for nothing else', async () => {
    await start();
    const { until, letGo } = held();
    engine.news = () => until;
    await world.advance(200);
    const stopped = leadership.stop();
    await world.settle();
    letGo();
    await world.finish(stopped);
    expect(engine.closes).toBe(1);
  });
});

describe('a process that has the guard and cannot use it', () => {
  let disk: HeldEngine;

  beforeEach(async () => {
    await start();
    disk = new HeldEngine(memoryEngine());
    disk.holding = true;
    engine.log = new RevocableEngine(disk);
    engine.leader = null;
    await world.advance(200);
    expect([disk.waiting, told]).toEqual([1, ['standby']]);
  });

  it('because its first entry cannot be written gives it back, stands by at once, and tries again', async () => {
    disk.fail(new Error('no room'));
    await world.settle();
    expect(told.slice(1)).toEqual(['standby', 'out of reach 1: no room']);
    expect(engine.logCloses).toBe(1);
    engine.log = new RevocableEngine();
    await world.advance(250);
    expect(told.at(-1)).toBe('leader');
  });

  it('because it lost it while that was being written does not lead', async () => {
    engine.leader = OTHER;
    engine.log.lose(new Error('the guard ran out'));
    await world.settle();
    disk.letGo();
    await world.settle();
    expect(told.slice(1)).toEqual(['deposed']);
    expect(engine.logCloses).toBe(1);
  });
});

describe('a leader whose log is lost', () => {
  it('drops its state, stands by, and leads again when it can', async () => {
    engine.leader = null;
    await start();
    engine.leader = OTHER;
    engine.log.lose(new Error('the guard ran out'));
    await world.settle();
    expect(told).toEqual(['standby', 'leader', 'deposed']);
    expect([engine.follows, engine.logCloses]).toEqual([2, 1]);
    engine.leader = null;
    engine.log = new RevocableEngine();
    await world.advance(200);
    expect(told).toEqual(['standby', 'leader', 'deposed', 'leader']);
  });
});

describe('a standby whose log is out of reach', () => {
  it('keeps what it has and asks again, four times a second', async () => {
    await start();
    engine.fault = new Error('cut');
    await world.advance(200);
    engine.fault = new Error('away');
    await world.advance(250);
    expect(told).toEqual(['standby', 'out of reach 1: cut', 'out of reach 2: away']);
    await world.advance(1_000);
    engine.fault = new Error('cut again');
    await world.advance(200);
    expect(told.at(-1)).toBe('out of reach 1: cut again');
    expect(engine.follows).toBe(1);
  });

  it('tells its callers that it cannot reach the database, and why, until it can again', async () => {
    await start();
    const trouble = (): string | null => standbys.at(-1)!.trouble;
    expect(trouble()).toBe(null);
    engine.fault = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:5432'), { code: 'ECONNREFUSED' });
    await world.advance(200);
    expect(trouble()).toBe('The database of the log cannot be reached (ECONNREFUSED).');
    expect(standbys.at(-1)!.refusal).toEqual({
      refused: 'NOT_LEADER',
      detail:
        'This server does not lead, and cannot tell who does: The database of the log cannot be reached (ECONNREFUSED).',
      leaderUrl: 'http://other',
    });
    await world.advance(250);
    expect([trouble(), standbys.at(-1)!.refusal]).toEqual([
      null,
      { refused: 'NOT_LEADER', leaderUrl: 'http://other' },
    ]);
  });

  it('tells an error of the database from one on the way there', async () => {
    await start();
    const cause = Object.assign(new Error('permission denied for table leasehold_log'), { code: '42501' });
    engine.fault = new Error('The log cannot be read now.', { cause });
    await world.advance(200);
    expect(standbys.at(-1)!.trouble).toBe('The database of the log answers with an error (42501).');
  });

  it('says so too when what it had read is dropped, as that of a deposed leader', async () => {
    engine.leader = null;
    await start();
    engine.leader = OTHER;
    engine.isSilent = true;
    engine.log.lose(new Error('the guard ran out'));
    await world.advance(10_000);
    const { length } = standbys;
    expect(standbys.at(-1)!.trouble).toBe('The database has been silent for 10000 ms.');
    await world.advance(10_250);
    expect(standbys.length).toBeGreaterThan(length);
    expect(standbys.at(-1)!.trouble).toBe('The database has been silent for 10000 ms.');
  });

  it('begins anew when the first replay was cut off: what it has by then is of no use', async () => {
    engine.leader = null;
    await start();
    engine.leader = OTHER;
    engine.fault = new Error('cut off');
    engine.log.lose(new Error('the guard ran out'));
    await world.advance(250);
    expect(told.slice(2)).toEqual(['deposed', 'standby', 'out of reach 1: cut off']);
    expect(new Set(standbys).size).toBe(standbys.length);
    expect(engine.follows).toBe(2);
  });

  it('keeps what it has read when it may not lead for now because the log is too far away', async () => {
    await start();
    engine.leader = null;
    engine.leadFault = new LogTooFarError('too far');
    await world.advance(5_000);
    expect(told).toContain('out of reach 1: too far');
    expect(told.at(-1)).toBe('leader');
    expect(engine.follows).toBe(1);
  });

  it('gives up a first replay in which nothing is received any more, before it begins the next', async () => {
    engine.leader = null;
    await start();
    engine.leader = OTHER;
    engine.isSilent = true;
    engine.log.lose(new Error('the guard ran out'));
    await world.advance(10_000);
    expect(told.at(-1)).toBe('out of reach 1: The database has been silent for 10000 ms.');
    expect(engine.opening).toBe(0);
    await world.advance(60_000);
    expect(engine.opening).toBe(1);
    engine.isSilent = false;
    await world.advance(10_250);
    expect([engine.opening, standbys.at(-1)!.isWarm]).toEqual([0, true]);
  });

  it('is told at its start that the log is out of reach when nothing is received', async () => {
    engine.isSilent = true;
    const told = expect(leadership.start()).rejects.toThrow(LogOutOfReachError);
    await world.advance(10_000);
    await told;
  });

  it('begins anew when what comes next was compacted away', async () => {
    await start();
    engine.fault = new LogCompactedError('gone');
    await world.advance(500);
    expect(told).toEqual(['standby', 'standby']);
    expect([engine.follows, engine.closes]).toEqual([2, 1]);
  });

  it('keeps what it has when nothing is received any more, and asks again on another connection', async () => {
    await start();
    engine.news = (replay) => replay.entry(epoch(1), 1, world.wallMs);
    await world.advance(200);
    engine.isSilent = true;
    await world.advance(10_200);
    expect(told.slice(1)).toEqual(['out of reach 1: The database has been silent for 10000 ms.']);
    expect(await standbys[0]!.read(({ state }) => state.lastSeq)).toBe(1);
    await world.advance(10_250);
    expect(told.at(-1)).toBe('out of reach 2: The database has been silent for 10000 ms.');
    engine.isSilent = false;
    engine.news = (replay) => replay.entry(epoch(2), 2, world.wallMs);
    await world.advance(250);
    expect(received).toEqual([1, 2]);
    expect([standbys.length, engine.follows, engine.closes, engine.hangUps]).toEqual([1, 1, 0, 2]);
  });

  it('asks again only when the look it has given up has ended: two would take over the same', async () => {
    await start();
    const { until, letGo } = held();
    engine.news = () => until;
    await world.advance(10_200);
    const { looks } = engine;
    expect(engine.hangUps).toBe(1);
    await world.advance(5_000);
    expect(engine.looks).toBe(looks);
    letGo();
    await world.advance(250);
    expect(engine.looks).toBeGreaterThan(looks);
    expect(engine.follows).toBe(1);
  });

  it('begins anew when it was silent before all of the past was replayed', async () => {
    engine.leader = null;
    await start();
    engine.leader = OTHER;
    engine.isSilent = true;
    engine.log.lose(new Error('the guard ran out'));
    await world.advance(10_000);
    expect(told.slice(2)).toEqual([
      'deposed',
      'standby',
      'out of reach 1: The database has been silent for 10000 ms.',
    ]);
    expect(engine.hangUps).toBe(0);
  });

  it('is patient while something is received, however long it takes', async () => {
    await start();
    engine.news = async (replay) => {
      for (let number = 1; number <= 3; number++) {
        replay.entry(epoch(number), number, world.wallMs);
        await new Promise<void>((resolve) => {
          world.timers.after(9_000, resolve);
        });
      }
    };
    await world.advance(30_000);
    expect(told).toEqual(['standby']);
    expect(await standbys[0]!.read(({ state }) => state.lastSeq)).toBe(3);
  });

  it('begins anew when taking the guard failed: it is unknown how far the replay has come', async () => {
    await start();
    engine.leader = null;
    engine.leadFault = new Error('cut');
    await world.advance(200);
    expect(told.slice(1)).toEqual(['standby', 'out of reach 1: cut']);
    expect(engine.closes).toBe(1);
    await world.advance(250);
    expect([engine.follows, told.at(-1)]).toEqual([2, 'leader']);
  });

  it('lets a connection go that comes after the wait for it has ended', async () => {
    await start();
    const { until, letGo } = held();
    engine.past = () => until;
    engine.fault = new LogCompactedError('gone');
    await world.advance(11_000);
    expect(told.at(-1)).toMatch(/^out of reach 1: The database has been silent/);
    const { closes } = engine;
    engine.past = () => undefined;
    letGo();
    await world.settle();
    expect(engine.closes).toBe(closes + 1);
  });

  it('gives back a guard that comes after the wait for it has ended', async () => {
    await start();
    engine.leader = null;
    engine.isLeadSlow = true;
    await world.advance(10_400);
    expect(told.at(-1)).toMatch(/^out of reach 1: The database has been silent/);
    engine.leader = OTHER;
    engine.letLead();
    await world.settle();
    expect(engine.logCloses).toBe(1);
    expect(told).not.toContain('leader');
  });

  it('ends when an entry cannot be applied: the next try would go wrong in the same way', async () => {
    await start();
    engine.news = (replay) => replay.entry({ ...epoch(2), version: 99 }, 1, world.wallMs);
    await world.advance(200);
    expect(told.at(-1)).toMatch(/^end: The log was written as leasehold version 99/);
    const { looks } = engine;
    await world.advance(10_000);
    expect(engine.looks).toBe(looks);
  });
});
