/** What went wrong, as the code to leave with and the sentence to say. */
import { CommanderError } from 'commander';
import { LeaseholdError } from '../client/error.ts';
import { EXIT, Failure } from './failure.ts';

export interface Ending {
  readonly code: number;
  /** Null when it has been said already. */
  readonly sentence: string | null;
}

export function endingOf(fault: unknown): Ending {
  if (fault instanceof CommanderError) {
    return { code: fault.exitCode === 0 ? EXIT.done : EXIT.usage, sentence: null };
  }
  return { code: codeOf(fault), sentence: sentenceOf(fault) };
}

/** Errors of the engine are told by their names, so that a command that opens no log need not load one. */
function codeOf(fault: unknown): number {
  if (fault instanceof Failure) return fault.exitCode;
  const name = fault instanceof Error ? fault.name : '';
  if (name === 'LogHeldError') return EXIT.inUse;
  return name === 'LogDamagedError' ? EXIT.damaged : EXIT.failed;
}

function sentenceOf(fault: unknown): string {
  if (fault instanceof LeaseholdError) return `${fault.code}: ${fault.message}`;
  return fault instanceof Error ? fault.message : String(fault);
}
