/**
 * A fault as exit code and last line: a sentence, or with `--json` one object like every other line,
 * {"code", "message", "exit_code"}.
 */
import { CommanderError } from 'commander';
import { type ErrorCode, LeaseholdError } from '../protocol/leasehold-error.ts';
import { COMMAND_CODES, type CommandCode } from './command-codes.ts';
import { EXIT, Failure, type FailureCode } from './failure.ts';

export interface Ending {
  readonly exitCode: number;
  /** The code for programs; null when the exit code is enough. */
  readonly code: FailureCode | null;
  /** It may begin with the code. */
  readonly sentence: string;
}

interface Silence {
  readonly exitCode: number;
  readonly sentence: null;
}

/** The code that stands for an exit code where there is no better one. */
const NAMES: ReadonlyMap<number | null, CommandCode> = new Map(
  (Object.keys(COMMAND_CODES) as CommandCode[]).map((code) => [COMMAND_CODES[code].exit, code]),
);
/** Faults of files and directories that the user has named. */
const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file or directory',
  ENOTDIR: 'Not a directory',
  EISDIR: 'A directory, and no file',
  EACCES: 'Permission denied',
  EPERM: 'Permission denied',
  EROFS: 'The file system can only be read',
  ENOSPC: 'The disk is full',
  EEXIST: 'It exists already',
};

/** Faults of a log have their own exit code, and no code before their sentence. */
const OF_A_LOG: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['LOG_HELD', 'LOG_DAMAGED', 'LOG_TOO_NEW']);

/** Exit codes from here on stand for signals. */
const SIGNALLED = 128;

/** Without a sentence where nothing is left to print: help was requested, or no command named. */
export function endingOf(fault: unknown): Ending | Silence {
  if (fault instanceof CommanderError) return usageEnding(fault);
  if (fault instanceof LeaseholdError && !OF_A_LOG.has(fault.code)) {
    const { code, message } = fault;
    return { exitCode: EXIT.failed, code, sentence: `${code}: ${message}` };
  }
  const code = fault instanceof Failure ? fault.code : null;
  return { exitCode: exitCodeOf(fault), code, sentence: systemSentence(fault) ?? messageOf(fault) };
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

/** The fault of a file as a sentence; null for any other fault. */
function systemSentence(fault: unknown): string | null {
  const { code, syscall, path, dest } = Object(fault) as NodeJS.ErrnoException & { readonly dest?: string };
  const says = syscall === undefined ? undefined : SYSTEM[code ?? ''];
  if (says === undefined) return null;
  const where = dest ?? path;
  if (where !== undefined) return `${where}: ${says} (${code}).`;
  // A fault without a path, such as that of a socket, has only this message.
  return code === 'ENOSPC' ? `${says}.` : null;
}

/** Faults whose message does not say what the command takes instead. */
const POINTS_TO_HELP = /^commander\.(unknownOption|unknownCommand|excessArguments)$/;
/** The suggestion that commander adds on its own line. */
const SUGGESTION = /\n\(Did you mean (.+)\)$/;

function usageEnding({ exitCode, code, message }: CommanderError): Ending | Silence {
  if (exitCode === 0) return { exitCode: EXIT.done, sentence: null };
  if (code === 'commander.help') return { exitCode: EXIT.usage, sentence: null };
  const says = message.replace(/^error: /, '');
  if (SUGGESTION.test(says)) {
    return { exitCode: EXIT.usage, code: null, sentence: says.replace(SUGGESTION, '; did you mean $1') };
  }
  const sentence = POINTS_TO_HELP.test(code) ? `${says.replace(/\.$/, '')}; see --help.` : says;
  return { exitCode: EXIT.usage, code: null, sentence };
}

/** Errors of the engine are told apart by name, so that a command that opens no log need not load an engine. */
function exitCodeOf(fault: unknown): number {
  if (fault instanceof Failure) return fault.exitCode;
  const name = fault instanceof Error ? fault.name : '';
  if (name === 'LogHeldError') return EXIT.inUse;
  if (name === 'OverlappingDirsError') return EXIT.usage;
  return name === 'LogDamagedError' ? EXIT.damaged : EXIT.failed;
}

/** The last line of a command, without its line break. */
export function lastLine(
  { json }: { readonly json?: boolean | undefined },
  { exitCode, code, sentence }: Ending,
): string {
  if (!json) return `leasehold: ${sentence}`;
  const message = sentence.startsWith(`${code}: `) ? sentence.slice(`${code}: `.length) : sentence;
  const name = code ?? nameOf(exitCode);
  return JSON.stringify({ code: name, message, exit_code: exitCode });
}

function nameOf(exitCode: number): CommandCode {
  return NAMES.get(exitCode) ?? (exitCode > SIGNALLED ? 'INTERRUPTED' : 'FAILED');
}

/** Whether a command line asks for JSON; words after -- belong to the program that is run. */
export function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).includes('--json');
}
