/** What a command fails with: one sentence for stderr and the exit code. */
import type { ErrorCode } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import type { CommandCode } from './command-codes.ts';
import { EXIT } from './exit-codes.ts';

export { EXIT };

/** Every code that a command can fail with; `leasehold explain` knows them all. */
export type FailureCode = ErrorCode | CommandCode;

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;
  /** The code for programs; null when the exit code is enough. */
  readonly code: FailureCode | null;

  constructor(sentence: string, exitCode: number = EXIT.failed, code: FailureCode | null = null) {
    super(sentence);
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** A failure with a code that `leasehold explain` knows; the sentence begins with it. */
export function refused(code: ErrorCode, says: string, exitCode = exitCodeOfCode(code)): Failure {
  return new Failure(`${code}: ${says}`, exitCode, code);
}

/** When the server finds a request invalid, the command line was wrong. */
function exitCodeOfCode(code: ErrorCode): number {
  return code === 'INVALID_ARGUMENT' ? EXIT.usage : EXIT.failed;
}

/** The command line itself is wrong. */
export function wrongUsage(sentence: string): Failure {
  return new Failure(sentence, EXIT.usage);
}

/** The body; a refusal is thrown as a failure whose sentence begins with its code. */
export function answered<T extends { readonly ok: true }>(reply: T | Problem, exitCode?: number): T {
  if (reply.ok) return reply;
  throw refused(reply.code, reply.detail, exitCode);
}

/** Why a program could not be started, from the fault of the system; anything else is thrown again. */
export function startFailure(program: string, fault: unknown): Failure {
  const { code, message } = Object(fault) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code !== 'string') throw fault;
  if (code === 'ENOENT') return new Failure(`${program} was not found.`, EXIT.commandNotFound);
  if (code === 'EACCES') return new Failure(`${program} is not executable.`, EXIT.notExecutable);
  return new Failure(`${program} could not be started: ${String(message)}.`, EXIT.notExecutable);
}
