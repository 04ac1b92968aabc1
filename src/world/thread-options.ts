/**
 * The flags of a new thread: those of the process, except when they define the kind of program given on the command
 * line or standard input. Node refuses such a flag for a thread, which has a file. Then the thread gets no flags: V8
 * flags apply to the whole process and Node ignores them for a thread.
 */
export function threadOptions(flags: readonly string[] = process.execArgv): { execArgv?: string[] } {
  return flags.some((flag) => /^--input-type\b/.test(flag)) ? { execArgv: [] } : {};
}
