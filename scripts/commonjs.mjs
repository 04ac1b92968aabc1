// Builds dist/cjs: a CommonJS copy of every entry point for module systems that cannot require ES modules, as Jest's. The
// entry points are the `require` conditions in package.json. Dependencies stay outside, and so do the files that are
// started by path (threads, the keeper): those run in Node itself and exist once, in dist/.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const out = join(root, 'dist', 'cjs');

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const names = [...new Set(requireTargets(exports).map((path) => basename(path, '.cjs')))];

const bundle = await rolldown({
  input: Object.fromEntries(names.map((name) => [name, join(root, 'dist', `${name}.js`)])),
  platform: 'node',
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
  plugins: [{ name: 'paths-of-dist', transform: (code, id) => withPathsOfDist(code, id) }],
  onLog(_, { message }) {
    throw new Error(message);
  },
});
await bundle.write({
  dir: out,
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name]-[hash].cjs',
  // Jest cannot run `import()` either.
  dynamicImportInCjs: false,
});
for (const name of names) writeFileSync(join(out, `${name}.d.cts`), `export * from '../${name}.js';\n`);

/** A module refers to the files it starts relative to where it is in dist/, and not to the bundle that holds a copy of it. */
function withPathsOfDist(code, id) {
  if (!code.includes('import.meta.url')) return null;
  const path = JSON.stringify(relative(out, id).replaceAll('\\', '/'));
  return code.replaceAll('import.meta.url', `new URL(${path}, import.meta.url).href`);
}

/** Every module under a `require` condition, however deep; types have one too. */
function requireTargets(conditions) {
  if (typeof conditions === 'string') return [];
  return Object.entries(conditions).flatMap(([name, target]) => {
    if (name === 'types') return [];
    return name === 'require' ? [target] : requireTargets(target);
  });
}
