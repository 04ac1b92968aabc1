#!/usr/bin/env node
/**
 * The command line. It puts the commands together, runs the one that was asked for, and turns what went wrong
 * into one line and an exit code: 2 wrong usage, 3 somebody else has it, 5 a damaged log, 1 anything else.
 */
import { asksForJson, endingOf, lastLine } from './ending.ts';
import { runProgram } from './program.ts';
import { realShell } from './real-shell.ts';

const ARGS = process.argv.slice(2);

// A server may be asked to reload before it is loaded, and after it has stopped: that must not end the process.
if (ARGS[0] === 'serve' || ARGS[0] === 'up') process.on('SIGHUP', () => undefined);

let endsWhenDone = false;
let outlivesReaders = false;
let isToldOfEpipe = false;

function fail(fault: unknown): void {
  const ending = endingOf(fault);
  process.exitCode = ending.exitCode;
  if ((process.env.LEASEHOLD_DEBUG ?? '') !== '') console.error(fault);
  if (ending.sentence !== null) console.error(lastLine({ json: asksForJson(ARGS) }, ending));
}

// Whoever reads our output may stop reading, as `head` does; that is no failure. Who has something to end in order, a
// worker or a scratch directory, is asked to; a server serves on.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code !== 'EPIPE') throw fault;
  if (outlivesReaders || isToldOfEpipe) return;
  isToldOfEpipe = true;
  if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(0);
});
process.stderr.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code !== 'EPIPE') throw fault;
});
process.on('uncaughtException', (fault) => {
  fail(fault);
  process.exit();
});

const shell = realShell({
  endWhenDone() {
    endsWhenDone = true;
  },
  outliveReaders() {
    outlivesReaders = true;
  },
});
runProgram(shell, ARGS)
  .catch(fail)
  .finally(() => {
    if (endsWhenDone) process.stdout.write('', () => process.exit());
  });
