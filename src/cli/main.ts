#!/usr/bin/env node
/**
 * The command line. One file a command; this one only puts them together and turns what went wrong into one
 * sentence and an exit code: 2 wrong usage, 3 somebody else has it, 5 a damaged log, 1 anything else.
 */
import { Command, CommanderError } from 'commander';
import { LogDamagedError, LogHeldError } from '../engines/log.ts';
import { walCommand } from './wal.ts';

async function main(): Promise<void> {
  const program = new Command('leasehold')
    .description('Leases, fenced writes and durable tasks from one log: ownership that time can revoke.')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 in use by somebody else, 5 the log is damaged.',
    )
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'leasehold: ')) });
  program.addCommand(walCommand());
  for (const command of program.commands) inherit(command, program);
  await program.parseAsync();
}

/** Subcommands do not take over their parent's settings by themselves when they are made elsewhere. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
}

function exitCode(fault: unknown): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : 2;
  if (fault instanceof LogHeldError) return 3;
  return fault instanceof LogDamagedError ? 5 : 1;
}

// Whoever reads our output may stop reading, as `head` does; that is no failure.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code === 'EPIPE') process.exit(0);
  throw fault;
});

main().catch((fault: unknown) => {
  process.exitCode = exitCode(fault);
  // Commander has said its own already.
  if (fault instanceof CommanderError) return;
  console.error(`leasehold: ${fault instanceof Error ? fault.message : String(fault)}`);
});
