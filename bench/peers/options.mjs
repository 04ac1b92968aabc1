/** The command line of `npm run bench -- peers`, read and checked. Pure: a mistake is a value with its message. */
import { parseArgs } from 'node:util';
import { WORKS } from './works.mjs';

const ROUNDS = 3;
const ROUNDS_MAX = 100;

export const usage = (peerNames) => `Usage: npm run bench -- peers [options]

Measures leasehold and what users would pick instead, in turn, on servers that it starts and stops itself.

  --quick         64 in flight, one round, no Postgres; at most three minutes
  --only LIST     peers with commas: ${peerNames.join(', ')};
                  redlock:always takes the variants of redlock that have "always" in their name
  --work LIST     works with commas: ${WORKS.map(({ name }) => name).join(', ')}
  --width LIST    only with so many calls in flight, with commas
  --rounds N      rounds of each measurement, ${ROUNDS} unless given
  --install       install what is missing: Debian packages (as root) and the npm packages of bench/peers
  --keep          put the tables of this run into the report's, in place of those of the same work and width
  --report        measure nothing; write docs/performance.md and its charts from bench/results/peers.json

LEASEHOLD_BENCH_DIR names a directory on the disk to be measured. A whole run takes about an hour.`;

/** Gives `{ options }` or `{ problem }`. */
export function optionsOf(args, peerNames) {
  let values;
  try {
    values = parseArgs({
      args,
      options: {
        quick: { type: 'boolean', default: false },
        install: { type: 'boolean', default: false },
        report: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        only: { type: 'string' },
        work: { type: 'string' },
        width: { type: 'string' },
        rounds: { type: 'string' },
      },
    }).values;
  } catch (fault) {
    return { problem: fault.message };
  }
  const pairs = values.only?.split(',').map((pair) => pair.trim().split(':'));
  const named = listOf(pairs?.map(([name]) => name).join(), peerNames);
  if (named?.unknown)
    return { problem: `There is no peer ${named.unknown}; there are: ${peerNames.join(', ')}.` };
  const only = named?.map((peer, index) => ({ peer, part: pairs[index][1] ?? '' })) ?? null;
  const workNames = WORKS.map(({ name }) => name);
  const works = listOf(values.work, workNames);
  if (works?.unknown)
    return { problem: `There is no work ${works.unknown}; there are: ${workNames.join(', ')}.` };
  const knownWidths = [...new Set(WORKS.flatMap((work) => work.widths))].map(String);
  const widths = listOf(values.width, knownWidths);
  if (widths?.unknown)
    return { problem: `There is no width ${widths.unknown}; there are: ${knownWidths.join(', ')}.` };
  const rounds = values.rounds === undefined ? (values.quick ? 1 : ROUNDS) : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > ROUNDS_MAX) {
    return { problem: `--rounds takes a whole number from 1 to ${ROUNDS_MAX}.` };
  }
  const { quick: isQuick, install, keep, report, help } = values;
  if (keep && isQuick) return { problem: 'A quick run is too short for the report.' };
  return {
    options: {
      isQuick,
      install,
      keep,
      report,
      help,
      only,
      works,
      widths: widths?.map(Number) ?? null,
      rounds,
    },
  };
}

/** The names of a list with commas, as they are spelled in `known`; null without a list. */
function listOf(text, known) {
  if (text === undefined) return null;
  const names = text.split(',').map((name) => name.trim());
  const found = names.map((name) => known.find((each) => each.toLowerCase() === name.toLowerCase()));
  const unknown = names.find((_, index) => found[index] === undefined);
  return unknown === undefined ? found : { unknown: unknown || '""' };
}
