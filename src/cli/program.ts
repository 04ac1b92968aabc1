/**
 * All commands. Only the requested command is loaded; for the others the help has a name and a sentence, so that
 * `leasehold --help` does not load a server.
 */
import { Command, CommanderError } from 'commander';
import { durationMs } from './arguments.ts';
import { DEFAULT_URL } from './connection.ts';
import { wrongUsage } from './failure.ts';
import type { Shell } from './shell.ts';
import { VERSION } from './version.ts';

interface Row {
  readonly name: string;
  readonly does: string;
  readonly load: (shell: Shell) => Promise<Command>;
}

/** To add a command: a file beside this one, a row here. `npm run generate` writes its section in `docs/cli.md`. */
const GROUPS: Readonly<Record<string, readonly Row[]>> = {
  'Serve:': [
    {
      name: 'up',
      does: 'Start a server and an orchestrator together.',
      load: async (shell) => (await import('./up.ts')).upCommand(shell),
    },
    {
      name: 'serve',
      does: 'Serve a data directory or a database over HTTP. Ends cleanly on SIGTERM and SIGINT; SIGHUP reloads tokens and certificate.',
      load: async (shell) => (await import('./serve.ts')).serveCommand(shell),
    },
    {
      name: 'orchestrate',
      does: 'Run the pipelines of sessions. Only one orchestrator runs at a time.',
      load: async (shell) => (await import('./orchestrate.ts')).orchestrateCommand(shell),
    },
    {
      name: 'backup',
      does: 'Copy the log of a running server into a new directory, and verify the copy.',
      load: async (shell) => (await import('./backup.ts')).backupCommand(shell),
    },
    {
      name: 'wal',
      does: 'Inspect the log of a data directory, or restore it from a backup.',
      load: async () => (await import('./wal.ts')).walCommand(),
    },
    {
      name: 'postgres',
      does: 'Keep leases and an outbox in your own Postgres, or repair a log in one.',
      load: async (shell) => (await import('./postgres.ts')).postgresCommand(shell),
    },
  ],
  'Work:': [
    {
      name: 'run',
      does: 'Hold a lease while a program runs.',
      load: async (shell) => (await import('./run.ts')).runCommand(shell),
    },
    {
      name: 'work',
      does: 'Run a program for every task of a queue.',
      load: async (shell) => (await import('./work.ts')).workCommand(shell),
    },
    {
      name: 'task',
      does: 'Create tasks, find them, ask why one is not running; requeue, cancel, change, end or purge them.',
      load: async (shell) => (await import('./task.ts')).taskCommand(shell),
    },
    {
      name: 'lease',
      does: 'Acquire, show, renew, release, ask for and break named leases.',
      load: async (shell) => (await import('./lease.ts')).leaseCommand(shell),
    },
    {
      name: 'object',
      does: 'Read and write fenced objects.',
      load: async (shell) => (await import('./object.ts')).objectCommand(shell),
    },
    {
      name: 'session',
      does: 'Request, show and stop sessions.',
      load: async (shell) => (await import('./session.ts')).sessionCommand(shell),
    },
  ],
  'Look and operate:': [
    {
      name: 'status',
      does: 'Show the role of a server, its position in the log and its counts.',
      load: async (shell) => (await import('./status.ts')).statusCommand(shell),
    },
    {
      name: 'top',
      does: 'Watch queues, leases, sessions and workers on a live screen.',
      load: async (shell) => (await import('./top.ts')).topCommand(shell),
    },
    {
      name: 'queue',
      does: 'Show queues, pause and resume them, set their limits.',
      load: async (shell) => (await import('./queue.ts')).queueCommand(shell),
    },
    {
      name: 'schedule',
      does: 'Create tasks at given times: set, show, pause, resume and fire schedules.',
      load: async (shell) => (await import('./schedule.ts')).scheduleCommand(shell),
    },
    {
      name: 'workers',
      does: 'List the workers that called recently.',
      load: async (shell) => (await import('./status.ts')).workersCommand(shell),
    },
    {
      name: 'receipts',
      does: 'Show refused writes, newest first. They are kept in memory only: a restart forgets them.',
      load: async (shell) => (await import('./receipts.ts')).receiptsCommand(shell),
    },
    {
      name: 'log',
      does: 'Read the log of a server.',
      load: async (shell) => (await import('./log.ts')).logCommand(shell),
    },
    {
      name: 'doctor',
      does: 'Check clock, disk, data directory, versions and the connection to the server.',
      load: async (shell) => (await import('./doctor.ts')).doctorCommand(shell),
    },
  ],
  'Learn:': [
    {
      name: 'demo',
      does: 'Watch a late write being refused, in half a minute.',
      load: async (shell) => (await import('./demo.ts')).demoCommand(shell),
    },
    {
      name: 'bench',
      does: 'Measure what this machine does: tasks and leases a second, every answer durable.',
      load: async (shell) => (await import('./bench.ts')).benchCommand(shell),
    },
    {
      name: 'explain',
      does: 'Explain a code that a command prints: when it occurs, and what to do.',
      load: async (shell) => (await import('./explain.ts')).explainCommand(shell),
    },
    {
      name: 'completion',
      does: 'Print a completion script for a shell.',
      load: async (shell) =>
        (await import('./completion.ts')).completionCommand(shell, () => makeProgram(shell, null)),
    },
  ],
};

/** The text below the commands in the help, and in the manual page. */
export const AFTER_HELP = `
Exit codes:
  0    done
  1    failed, or refused: the sentence on stderr begins with the code of the refusal
  2    wrong usage, or an argument that the server refuses as INVALID_ARGUMENT
  3    in use by another process: the data directory (up, serve, wal restore), the log in a database
       (postgres restored), or the guard (orchestrate)
  4    the guard was lost, and every pipeline was stopped (orchestrate)
  5    the log is damaged
  73   the lease was not acquired: another holder has it (lease acquire, run)
  75   the lease was lost while the program ran, and the program was ended (run)
  126  the program could not be run (run, work)
  127  the program was not found (run, work)
  \`run\` otherwise exits with the code of the program, or 128 plus the number of the signal that ended it.

Environment:
  LEASEHOLD_URL     the server (default ${DEFAULT_URL}); several of one log are separated by commas
  LEASEHOLD_TOKEN   the bearer token to send
  LEASEHOLD_DATA    the data directory of \`up\`, \`serve\` and \`doctor\` (default ./leasehold-data)
  LEASEHOLD_ENGINE  the database of \`up\` and \`serve\`, postgres://…, instead of a data directory;
                    also of \`postgres restored\`
  DATABASE_URL      the database of \`postgres migrate\`, \`rollback\`, \`probe\`, \`relay\` and \`outbox\`
  LEASEHOLD_LISTEN  where \`up\` and \`serve\` listen
  LEASEHOLD_TOKENS  their tokens and scopes, as JSON; \`--tokens FILE\` names a file instead
  LEASEHOLD_IDEM_SECRET, LEASEHOLD_IDEM_SECRET_PREVIOUS, LEASEHOLD_API_LEASES
                    how \`up\` and \`serve\` take intents; see docs/guides/sessions.md
  LEASEHOLD_TLS_CERT, LEASEHOLD_ALLOW_NET, LEASEHOLD_HISTORY, LEASEHOLD_KEEP_COMPLETED
                    and others set options of \`up\` and \`serve\`, as their help says; a flag wins
  NODE_EXTRA_CA_CERTS
                    a file (PEM) with the authority that signed the certificate of the server
  NO_COLOR          no colours, even on a terminal
  LEASEHOLD_DEBUG   1 adds details to a failure

Start here:
  leasehold demo                                    see what fencing does
  leasehold up                                      start a server, and an orchestrator beside it
  leasehold run nightly-report -- ./make-report     one at a time, however many machines try`;

/** The whole program; only the commands named in `words` are loaded, or all of them when it is null. */
export async function makeProgram(shell: Shell, words: readonly string[] | null): Promise<Command> {
  const program = new Command('leasehold')
    .description('Leases, fenced writes and durable tasks from one log: ownership that time can revoke.')
    .version(VERSION, '-V, --version', 'print the version')
    .option('--server <url>', 'the URL of the server; every command that talks to a server takes it too')
    .option('--token <token>', 'the bearer token to send')
    .option('--json', 'print JSON')
    .option(
      '--retry-for <duration>',
      'how long to retry while no server answers; 0 fails at once',
      durationMs,
    )
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => shell.out.write(text),
      writeErr: (text) => shell.err.write(text),
      getOutHelpWidth: () => shell.out.columns,
      getErrHelpWidth: () => shell.err.columns,
      // `main.ts` prints it, like every other fault.
      outputError: () => undefined,
    })
    .addHelpText('after', AFTER_HELP)
    .hook('preAction', (_program, action) => handDown(action));
  for (const [heading, rows] of Object.entries(GROUPS)) {
    for (const { name, does, load } of rows) {
      const isWanted = words === null || words.includes(name);
      const command = isWanted ? await load(shell) : new Command(name).description(does);
      program.addCommand(command.helpGroup(heading));
    }
  }
  for (const command of program.commands) inherit(command, program);
  return program;
}

/** Runs a command line. */
export async function runProgram(shell: Shell, args: readonly string[]): Promise<void> {
  const program = await makeProgram(shell, wantedWords(args));
  try {
    await program.parseAsync(helpfulArgs(program, args), { from: 'user' });
  } catch (fault) {
    throw usageFault(fault, program, args);
  }
}

/** Without `--` the options of the program to run are taken for ours; the message then shows where `--` belongs. */
function usageFault(fault: unknown, program: Command, args: readonly string[]): unknown {
  if (!(fault instanceof CommanderError)) return fault;
  const { code, message } = fault;
  if (code !== 'commander.unknownOption' && code !== 'commander.missingArgument') return fault;
  // The first word that names a command: a later one may be a queue that is called like one.
  const [command] = wantedWords(args).flatMap((word) =>
    program.commands.filter((each) => each.name() === word),
  );
  const usage = command?.usage() ?? '';
  if (!usage.includes(' -- ')) return fault;
  const [says, near = ''] = message.replace(/^error: /, '').split('\n(Did you mean ');
  const meant = near === '' ? '' : ` did you mean ${near.slice(0, -1)}`;
  return wrongUsage(`${says};${meant} usage: leasehold ${command!.name()} ${usage}`);
}

/** The words that could name a command: the first, or the second after `help`. */
function wantedWords(args: readonly string[]): readonly string[] {
  return args.filter((word) => !word.startsWith('-')).slice(0, 3);
}

/** Makes `help` for an unknown command fail: commander would print the help of the whole program and succeed. */
function helpfulArgs(program: Command, args: readonly string[]): readonly string[] {
  const path: string[] = [];
  let rest = args;
  for (let command = program; command.commands.length > 0; ) {
    const { operands, unknown } = command.parseOptions([...rest]);
    const words = operands[0] === 'help' ? operands.slice(1) : operands;
    const [name] = words;
    if (name === undefined || name === 'help') return args;
    path.push(name);
    const next = command.commands.find((each) => each.name() === name);
    if (next === undefined) return path;
    rest = [...words.slice(1), ...unknown];
    command = next;
  }
  return args;
}

/** Subcommands that are created elsewhere do not inherit their parent's settings by themselves. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
}

/** `leasehold --server URL task ls`: options of a parent apply to the command, unless it has its own. */
function handDown(action: Command): void {
  for (let above = action.parent; above !== null; above = above.parent) {
    for (const [name, value] of Object.entries(above.opts())) {
      const isKnown = action.options.some((option) => option.attributeName() === name);
      const source = action.getOptionValueSource(name);
      if (isKnown && (source === undefined || source === 'default')) action.setOptionValue(name, value);
    }
  }
}
