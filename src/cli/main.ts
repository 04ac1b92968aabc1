#!/usr/bin/env node
/**
 * The command line. It puts the commands together, runs the one that was asked for, and turns what went wrong
 * into one line and an exit code: 2 wrong usage, 3 somebody else has it, 5 a damaged log, 1 anything else.
 */
import { asksForJson, endingOf, lastLine } from './ending.ts';
import { runProgram } from './program.ts';
import { realShell } from './real-shell.ts';

const ARGS = process.argv.slice(2);

function fail(fault: unknown): void {
  const ending = endingOf(fault);
  process.exitCode = ending.exitCode;
  if ((process.env.LEASEHOLD_DEBUG ?? '') !== '') console.error(fault);
  if (ending.sentence !== null) console.error(lastLine({ json: asksForJson(ARGS) }, ending));
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

let endsWhenDone = false;
const shell = realShell(() => {
  endsWhenDone = true;
});
runProgram(shell, ARGS)
  .catch(fail)
  .finally(() => {
    if (endsWhenDone) process.stdout.write('', () => process.exit());
  });
