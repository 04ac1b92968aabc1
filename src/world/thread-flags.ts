/**
 * The flags of Node that a thread of ours is started with: those of the process, but for the one that says what a program
 * from the command line or the standard input is. A thread has a file, and Node refuses the flag with it.
 */
export function threadFlags(flags: readonly string[] = process.execArgv): string[] {
  const isInputType = (flag: string | undefined): boolean => flag === '--input-type';
  return flags.filter(
    (flag, index) =>
      !isInputType(flag) && !flag.startsWith('--input-type=') && !isInputType(flags[index - 1]),
  );
}
