#!/usr/bin/env node
/**
 * The command line. It puts the commands together, runs the one that was asked for, and turns what went wrong
 * into one sentence and an exit code: 2 wrong usage, 3 somebody else has it, 5 a damaged log, 1 anything else.
 */
import { endingOf } from './ending.ts';
import { makeProgram, wantedWords } from './program.ts';
import { realShell } from './real-shell.ts';

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const program = await makeProgram(realShell(), wantedWords(args));
  await program.parseAsync(args, { from: 'user' });
}

function fail(fault: unknown): void {
  const { code, sentence } = endingOf(fault);
  process.exitCode = code;
  if ((process.env.LEASEHOLD_DEBUG ?? '') !== '') console.error(fault);
  if (sentence !== null) console.error(`leasehold: ${sentence}`);
}

// Whoever reads our output may stop reading, as `head` does; that is no failure.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code === 'EPIPE') process.exit(0);
  throw fault;
});
process.on('uncaughtException', (fault) => {
  fail(fault);
  process.exit();
});

main().catch(fail);
