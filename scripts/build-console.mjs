// Builds the web console: src/console → dist/console, with hashed names and a list of all files and their types
// (files.json), which is all that the server ever reads. `npm run build` and the setup of every other command call it.
import { readdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const out = join(root, 'dist', 'console');

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

await build({
  root: join(root, 'src', 'console'),
  configFile: false,
  logLevel: 'warn',
  // Relative URLs: the console works under any path prefix.
  base: './',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    // A preload script would be of no use for one small bundle.
    modulePreload: false,
    // Data URLs are no files, and the policy of the page forbids them.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

const files = readdirSync(out, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) =>
    join(entry.parentPath, entry.name)
      .slice(out.length + 1)
      .replaceAll('\\', '/'),
  )
  .sort()
  .map((path) => ({ path, type: typeOf(path) }));
writeFileSync(join(out, 'files.json'), `${JSON.stringify(files, null, 2)}\n`);

function typeOf(path) {
  const type = TYPES[extname(path)];
  if (type === undefined) throw new Error(`${path} has no content type in scripts/build-console.mjs.`);
  return type;
}
