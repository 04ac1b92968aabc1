#!/usr/bin/env node
/**
 * The command line. It assembles the commands, runs the requested one, and turns a fault into one line and an exit
 * code: 2 wrong usage, 3 in use by another process, 5 a damaged log, 1 anything else.
 */
import { asksForJson, endingOf, lastLine } from './ending.ts';
import { runProgram } from './program.ts';
import { realShell } from './real-shell.ts';

const ARGS = process.argv.slice(2);

// SIGHUP may arrive before the server is loaded and after it has stopped: it must not end the process.
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

// The reader of the output may stop reading, as `head` does; that is not a failure. A command that has something to
// clean up, such as a worker, gets SIGTERM; a server keeps serving.
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
