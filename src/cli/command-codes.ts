/**
 * The codes of commands themselves, where neither a server nor the client has a better one: with `--json` a failure
 * names one of them. `exit` is the exit code that the code stands for if a failure has no code of its own.
 */
import { EXIT } from './exit-codes.ts';

interface CommandCodeText {
  readonly exit: number | null;
  readonly says: string;
  readonly when: string;
  readonly todo: string;
}

export const COMMAND_CODES = {
  FAILED: {
    exit: EXIT.failed,
    says: 'The command failed.',
    when: 'Something went wrong that has no code of its own: a file could not be written, a port is taken, a check of `doctor` failed. The sentence says what.',
    todo: 'Do what the sentence says. `LEASEHOLD_DEBUG=1` adds details.',
  },
  WRONG_USAGE: {
    exit: EXIT.usage,
    says: 'The command line is wrong.',
    when: 'A command, an option or an argument is unknown, missing or malformed, or a file that it names cannot be used.',
    todo: 'Correct the command line; `leasehold COMMAND --help` shows the usage. Nothing was done.',
  },
  IN_USE: {
    exit: EXIT.inUse,
    says: 'Another process holds it.',
    when: 'The data directory, the log in a database, or the guard of the orchestrator is held by another process. The sentence says which one.',
    todo: 'Stop that process first, or use another directory. The lock of a data directory is gone when its process is: delete no file.',
  },
  GUARD_LOST: {
    exit: EXIT.guardLost,
    says: 'The orchestrator lost its guard.',
    when: 'The guard lease expired, was broken or superseded, or one renewal failed. Every pipeline was stopped.',
    todo: 'Start it again; `leasehold up` does so by itself. If it happens often, look at the network and at how long the server takes.',
  },
  LOG_DAMAGED: {
    exit: EXIT.damaged,
    says: 'The log is damaged.',
    when: 'A checksum in the middle of the log is wrong, or a part of it is missing. The sentence names the file and the offset. Nothing was changed.',
    todo: 'Keep a copy of the directory, check the disk, and restore a backup with `leasehold wal restore`.',
  },
  LOG_LOST: {
    exit: null,
    says: 'The log cannot be written any more.',
    when: 'A write or sync failed while the server ran, so that it cannot know what is durable. It answered 503 to all calls and ended.',
    todo: 'Look at the fault in its output and at the disk, then start it again. Every acknowledged change is in the log.',
  },
  NOT_STARTED: {
    exit: null,
    says: 'The orchestrator did not start.',
    when: 'Another orchestrator holds the guard, or the server refused a call that it needs. The sentence says which.',
    todo: 'Stop the other one, or correct what the sentence names.',
  },
  NOT_EXECUTABLE: {
    exit: EXIT.notExecutable,
    says: 'The program could not be run.',
    when: 'The program of `run` or `work` is not executable, or the system refused to start it.',
    todo: 'Check its permissions and its first line.',
  },
  COMMAND_NOT_FOUND: {
    exit: EXIT.commandNotFound,
    says: 'The program was not found.',
    when: 'The program of `run` or `work` is not in `PATH`, or there is no such file.',
    todo: 'Check the path. The words after `--` are run as given, without a shell.',
  },
  INTERRUPTED: {
    exit: null,
    says: 'A signal ended the command at once.',
    when: 'A second SIGTERM, or another Ctrl-C two seconds after the first, came before the command had ended in order. The exit code is 128 plus the number of the signal.',
    todo: 'Nothing: this was requested. Leases that were not released expire.',
  },
} as const satisfies Record<string, CommandCodeText>;

export type CommandCode = keyof typeof COMMAND_CODES;
