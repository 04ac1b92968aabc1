// Runs the built command line as a real process and gives what it said.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function leasehold(...args: string[]): Run {
  return leaseholdWith({}, ...args);
}

export function leaseholdWith(env: Record<string, string>, ...args: string[]): Run {
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], options);
  return { status, stdout, stderr };
}

/** One JSON value a line. */
export function lines({ stdout }: Run): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
