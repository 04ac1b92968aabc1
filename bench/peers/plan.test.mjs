// Which measurements a command line asks for, and in which order they are taken.
import { describe, expect, it } from 'vitest';
import { optionsOf } from './options.mjs';
import { planOf } from './plan.mjs';

const queue = {
  name: 'Queue',
  kinds: ['queue'],
  needs: { commands: ['queued'] },
  variants: [
    { name: 'one', durable: 'yes' },
    { name: 'many', durable: 'yes', batch: 500 },
    { name: 'odd', durable: 'no', skips: { waiting: 'It is odd.' } },
  ],
};
const lock = {
  name: 'sketch',
  kinds: ['lock'],
  needs: {},
  variants: [
    { name: 'own', durable: 'yes' },
    { name: 'in Postgres', durable: 'yes', needs: { postgres: true } },
  ],
};
const peers = [
  { driver: 'queue', peer: queue },
  { driver: 'lock', peer: lock },
];
const names = peers.map(({ peer }) => peer.name);
const planned = (...args) => planOf(peers, optionsOf(args, names).options);

describe('the plan of a run', () => {
  it('gives every peer its turn in each round, each round with another one first', () => {
    const turns = planned('--work', 'hot').jobs.filter(({ width }) => width === 64);
    expect(turns.map(({ round, variant }) => `${round} ${variant}`)).toEqual([
      '1 own',
      '1 in Postgres',
      '2 own',
      '2 in Postgres',
      '3 in Postgres',
      '3 own',
    ]);
  });

  it('takes batches only for lifecycles with as many in flight', () => {
    const { jobs } = planned('--rounds', '1', '--only', 'queue');
    const batches = jobs.filter(({ variant }) => variant === 'many');
    expect(batches.map(({ work, width }) => `${work} ${width}`)).toEqual([
      'lifecycle 1024',
      'lifecycle 4096',
    ]);
  });

  it('names what a peer skips, with the reason', () => {
    const { jobs, skipped } = planned('--work', 'waiting', '--rounds', '1');
    expect(jobs.map(({ variant }) => variant)).toEqual(['one']);
    expect(skipped).toEqual([{ work: 'waiting', peer: 'Queue', variant: 'odd', reason: 'It is odd.' }]);
  });

  it('is quick with 64 in flight, one round, and without Postgres and long works', () => {
    const { jobs } = planned('--quick');
    expect(jobs.map(({ work, width, round, variant }) => [work, width, round, variant])).toEqual([
      ['lock', 64, 1, 'own'],
      ['hot', 64, 1, 'own'],
      ['renewals', 64, 1, 'own'],
    ]);
  });

  it('takes peers and long works into a quick run when they are named', () => {
    const { jobs } = planned('--quick', '--only', 'QUEUE, Sketch', '--work', 'waiting,lock');
    expect(jobs.map(({ variant }) => variant)).toEqual(['own', 'in Postgres', 'one']);
    expect(jobs[1].needs).toEqual({ postgres: true });
  });
});

describe('a part of a run', () => {
  it('takes the variants and widths that are named', () => {
    const { jobs } = planned('--only', 'Queue:ON,sketch:postgres', '--width', '64', '--rounds', '1');
    expect(jobs.map(({ work, width, variant }) => `${work} ${width} ${variant}`)).toEqual([
      'lifecycle 64 one',
      'lock 64 in Postgres',
      'hot 64 in Postgres',
      'latency 64 one',
    ]);
  });
});

describe('the command line of the peers', () => {
  it.each([
    [['--only', 'redis'], 'There is no peer redis; there are: Queue, sketch.'],
    [['--work', 'lock,'], 'There is no work "";'],
    [['--width', '64,7'], 'There is no width 7;'],
    [['--quick', '--keep'], 'A quick run is too short for the report.'],
    [['--rounds', '0'], '--rounds takes a whole number from 1 to 100.'],
    [['--rounds', 'many'], '--rounds takes a whole number'],
    [['--fast'], "Unknown option '--fast'"],
    [['lock'], 'Unexpected argument'],
  ])('refuses %j', (args, says) => {
    expect(optionsOf(args, names).problem).toContain(says);
  });

  it('takes three rounds, one when quick, and what it is told', () => {
    const roundsOf = (...args) => optionsOf(args, names).options.rounds;
    expect([roundsOf(), roundsOf('--quick'), roundsOf('--quick', '--rounds', '5')]).toEqual([3, 1, 5]);
  });
});
