/** The command line as a file, for commands that start another one in a process of its own. */
import { fileURLToPath } from 'node:url';

/** Built, this file and that one end in .js; run from source, on a Node that can, both end in .ts. */
export const MAIN = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './main.ts' : './main.js', import.meta.url),
);
