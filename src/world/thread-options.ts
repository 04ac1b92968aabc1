/**
 * How a thread of ours is started: with the flags of its process, unless those say what kind of program stands on the
 * command line or the standard input. A thread has a file, and Node refuses that flag with it. Then it is started without
 * any: those of the engine hold for the whole process, and Node takes none of them for a thread.
 */
export function threadOptions(flags: readonly string[] = process.execArgv): { execArgv?: string[] } {
  return flags.some((flag) => /^--input-type\b/.test(flag)) ? { execArgv: [] } : {};
}
