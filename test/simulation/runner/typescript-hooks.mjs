// Lets Node load the TypeScript of this repository as it is, and with a deliberate bug in it when told so: the change is
// made to the text of a module as it is loaded, never to a file. A change whose place is not there any more fails loudly,
// since a bug that was not put in would never be found. What was compiled once is kept under node_modules/.cache.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const cache = join(root, 'node_modules', '.cache', 'leasehold-simulation');
const config = readFileSync(join(root, 'tsconfig.json'), 'utf8');
let edits = [];
let compiler = null;

export function initialize(data) {
  edits = data?.edits ?? [];
}

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const text = withEdits(relative(root, path), readFileSync(path, 'utf8'));
  return { format: 'module', source: await compiled(path, text), shortCircuit: true };
}

function withEdits(file, text) {
  let edited = text;
  for (const { from, to } of edits.filter((edit) => edit.file === file)) {
    const parts = edited.split(from);
    if (parts.length !== 2) throw new Error(`${file} has this ${parts.length - 1} times, not once: ${from}`);
    edited = parts.join(to);
  }
  return edited;
}

async function compiled(path, text) {
  const name = createHash('sha256').update(config).update(path).update('\0').update(text).digest('hex');
  const kept = join(cache, `${name}.mjs`);
  if (existsSync(kept)) return readFileSync(kept, 'utf8');
  compiler ??= await loadCompiler();
  const code = compiler(path, text);
  mkdirSync(cache, { recursive: true });
  // Two processes may compile the same module at once; a rename never shows half of a file.
  writeFileSync(`${kept}.${process.pid}`, code);
  renameSync(`${kept}.${process.pid}`, kept);
  return code;
}

/** The compiler of this repository with its own settings; the extensions stay, because the sources are what is loaded. */
async function loadCompiler() {
  const { default: ts } = await import('typescript');
  const { config: parsed } = ts.parseConfigFileTextToJson('tsconfig.json', config);
  const { options } = ts.convertCompilerOptionsFromJson(parsed.compilerOptions, root);
  const settings = {
    ...options,
    // A single file cannot tell the compiler that this package is made of ES modules.
    module: ts.ModuleKind.ESNext,
    rewriteRelativeImportExtensions: false,
    declaration: false,
    sourceMap: false,
    inlineSourceMap: true,
  };
  return (fileName, text) => ts.transpileModule(text, { fileName, compilerOptions: settings }).outputText;
}
