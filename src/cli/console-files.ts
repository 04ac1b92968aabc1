/** The files of the web console, which the build puts beside the command line with a list of them. */
import { fileURLToPath } from 'node:url';
import type { ConsoleFile } from '../server/console-files.ts';
import { EXIT, Failure } from './failure.ts';
import type { Shell } from './shell.ts';

const FOLDER = fileURLToPath(new URL('../console/', import.meta.url));

/** Reads only the files that the list names. */
export async function readConsole({ files }: Pick<Shell, 'files'>): Promise<ConsoleFile[]> {
  try {
    const list = JSON.parse(await files.read(`${FOLDER}files.json`)) as { path: string; type: string }[];
    return await Promise.all(
      list.map(async ({ path, type }) => ({
        path,
        type,
        bytes: Buffer.from(await files.read(`${FOLDER}${path}`)),
      })),
    );
  } catch (fault) {
    throw new Failure(
      `The files of the console in ${FOLDER} cannot be read (${(fault as Error).message}). Install leasehold again, or run npm run build in a clone.`,
      EXIT.failed,
    );
  }
}

/** `/leasehold` or empty; throws a sentence about anything else. */
export function basePath(text: string): string {
  const path = text.replace(/\/+$/, '');
  if (/^(\/[A-Za-z0-9._~-]+)*$/.test(path) && !/\/\.{1,2}(\/|$)/.test(path)) return path;
  throw new TypeError(`${text} is not a path prefix; write it like /leasehold.`);
}
