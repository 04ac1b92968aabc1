// `npm run sim`: runs seeds on all cores and says what it found. Exit codes: 0 nothing was found (with --mutate: the bug
// was), 1 otherwise, 2 the command line is wrong.
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { CHECKERS } from './checkers/all.ts';
import { MUTANTS, type Mutant } from './mutants.ts';
import type { Plan } from './plan.ts';
import { planFrom } from './plan-from.ts';
import { Crew } from './runner/crew.ts';
import { reportOf } from './runner/report.ts';
import type { Outcome } from './runner/run-plan.ts';
import { shrink } from './runner/shrink.ts';
import { Tally } from './runner/tally.ts';

const HELP = `Usage: npm run sim -- [--seed N | --seeds COUNT [--from N] | --for TIME] [--mutate NAME] [--list]

  --seed N       one seed: its whole world, twice
  --seeds COUNT  so many seeds, from a random one on, or from --from; 100 if nothing else is said
  --for TIME     fresh seeds for so long: 30s, 10m, 1h
  --mutate NAME  puts a deliberate bug in and shows which seed finds it; with --seed, --seeds or --for it looks there;
                 \`all\` looks for the first seed that finds each of them
  --list         what is checked, and which deliberate bugs there are
  --keep-going   do not stop at the first failure
`;

/** Runs of a failed plan in search of a smaller one. */
const SHRINKS_MAX = 60;

interface Options {
  readonly seeds: Iterable<number>;
  readonly untilMs: number;
  readonly mutant: Mutant | null;
  readonly keepsGoing: boolean;
}

async function run({ seeds, untilMs, mutant, keepsGoing }: Options): Promise<number> {
  const size = availableParallelism();
  const crew = new Crew({ size, edits: mutant?.edits ?? [] });
  const tally = new Tally(process.stderr);
  const failures: Outcome[] = [];
  const queue = seeds[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (;;) {
      if (Date.now() >= untilMs || (failures.length > 0 && !keepsGoing)) return;
      const next = queue.next();
      if (next.done === true) return;
      const outcome = await crew.run({ plan: next.value, isRepeated: mutant === null });
      tally.add(outcome);
      if (outcome.findings.length > 0) failures.push(outcome);
    }
  };
  try {
    await Promise.all(Array.from({ length: size }, work));
    tally.end();
    for (const failure of failures) await show(failure, crew, mutant);
  } finally {
    crew.close();
  }
  console.log(tally.summary());
  if (mutant === null) return failures.length === 0 ? 0 : 1;
  console.log(failures.length === 0 ? `${mutant.name} was not found.` : `${mutant.name} was found.`);
  return failures.length === 0 ? 1 : 0;
}

/** The first seed for each deliberate bug: for when the world has changed and the recorded ones find nothing any more. */
async function survey(seedsMax: number): Promise<number> {
  const sound = new Crew({ size: 1 });
  let missed = 0;
  for (const { name, seed: recorded, edits } of MUTANTS) {
    const crew = new Crew({ size: availableParallelism(), edits });
    const queue = [recorded, ...seedsFrom(1, seedsMax)];
    let found: string | null = null;
    const work = async (): Promise<void> => {
      for (let seed = queue.shift(); seed !== undefined && found === null; seed = queue.shift()) {
        const job = { plan: seed, isRepeated: false };
        const { findings } = await crew.run(job);
        if (findings.length === 0 || (await sound.run(job)).findings.length > 0) continue;
        found ??= `seed ${seed}, by ${[...new Set(findings.map(({ checker }) => checker))].join(', ')}`;
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, work));
    crew.close();
    if (found === null) missed += 1;
    console.log(`${name.padEnd(32)} ${found ?? 'NOT FOUND'}`);
  }
  sound.close();
  return missed === 0 ? 0 : 1;
}

async function show(failure: Outcome, crew: Crew, mutant: Mutant | null): Promise<void> {
  const [{ checker }] = failure.findings as [Outcome['findings'][number]];
  const fails = async (plan: Plan): Promise<boolean> => {
    const { findings } = await crew.run({ plan, isRepeated: checker === 'deterministic' });
    return findings.some((finding) => finding.checker === checker);
  };
  // What does not end would have to be waited for at every step.
  const tries = checker === 'endless' ? 0 : SHRINKS_MAX;
  const { plan } = await shrink(planFrom(failure.seed), fails, tries);
  const command = `npm run sim -- --seed ${failure.seed}${mutant === null ? '' : ` --mutate ${mutant.name}`}`;
  console.log(`\n${reportOf(failure, plan, command)}\n`);
}

function list(): void {
  console.log('What is checked in every history:');
  for (const { name, promises } of CHECKERS) console.log(`  ${name.padEnd(15)} ${promises}`);
  console.log('\nDeliberate bugs, and the seed that finds each:');
  for (const { name, does, seed, checker } of MUTANTS) {
    console.log(`  ${name.padEnd(32)} ${does}\n${' '.repeat(35)}seed ${seed}, by ${checker}`);
  }
}

function readCommandLine(args: readonly string[]): Options | number | null {
  const values = new Map<string, string>();
  const rest = [...args];
  while (rest.length > 0) {
    const flag = rest.shift()!;
    if (flag === '--help') {
      console.log(HELP);
      return null;
    }
    if (flag === '--list') {
      list();
      return null;
    }
    if (flag === '--keep-going') values.set(flag, '');
    else if (['--seed', '--seeds', '--from', '--for', '--mutate'].includes(flag)) {
      const value = rest.shift();
      if (value === undefined) wrong(`${flag} needs a value.`);
      values.set(flag, value);
    } else wrong(`${flag} is not a flag of this command.`);
  }
  for (const flag of ['--seeds', '--from', '--for'])
    if (values.has('--seed') && values.has(flag))
      wrong(`--seed is one seed; ${flag} makes no sense beside it.`);
  if (Number(values.get('--seeds')) === 0) wrong('--seeds needs at least one.');
  if (values.get('--mutate') === 'all') return numberOf('--seeds', values.get('--seeds') ?? '300');
  const mutant = mutantNamed(values.get('--mutate'));
  const forMs = values.has('--for') ? durationMs(values.get('--for')!) : Number.POSITIVE_INFINITY;
  const one = values.has('--seed') ? [numberOf('--seed', values.get('--seed')!)] : null;
  const isOpen = !values.has('--seeds') && !values.has('--for');
  const recorded = isOpen && mutant !== null ? [mutant.seed] : null;
  const count = values.has('--seeds') ? numberOf('--seeds', values.get('--seeds')!) : isOpen ? 100 : Infinity;
  const from = values.has('--from') ? numberOf('--from', values.get('--from')!) : freshSeed();
  const seeds = one ?? recorded ?? seedsFrom(from, count);
  return { seeds, untilMs: Date.now() + forMs, mutant, keepsGoing: values.has('--keep-going') };
}

function mutantNamed(name: string | undefined): Mutant | null {
  if (name === undefined) return null;
  const found = MUTANTS.find((mutant) => mutant.name === name);
  return found ?? wrong(`there is no deliberate bug ${name}; see npm run sim -- --list.`);
}

function* seedsFrom(from: number, count: number): Generator<number> {
  for (let index = 0; index < count; index++) yield from + index;
}

/** Not too long to be typed. */
function freshSeed(): number {
  return 1_000_000 + Math.floor(Math.random() * 1_000_000_000);
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0
    ? value
    : wrong(`${flag} needs a whole number, not ${text}.`);
}

function durationMs(text: string): number {
  const [, amount, unit] =
    /^(\d+)(s|m|h)$/.exec(text) ?? wrong(`--for needs a time like 30s, 10m or 1h, not ${text}.`);
  return Number(amount) * { s: 1_000, m: 60_000, h: 3_600_000 }[unit as 's' | 'm' | 'h'];
}

function wrong(sentence: string): never {
  console.error(`npm run sim: ${sentence}`);
  process.exit(2);
}

const options = readCommandLine(process.argv.slice(2));
if (typeof options === 'number') process.exitCode = await survey(options);
else if (options !== null) process.exitCode = await run(options);
