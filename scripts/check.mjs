// All static checks: types, lint and format, unused code. All of them run to the end, so that one run shows every
// problem. `npm run fix` repairs what can be repaired automatically.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tool = (...path) => join(root, 'node_modules', ...path);

const CHECKS = [
  { name: 'types', args: [tool('typescript', 'bin', 'tsc'), '-p', 'tsconfig.check.json'] },
  { name: 'lint', args: [tool('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings'] },
  { name: 'unused', args: [tool('knip', 'bin', 'knip.js'), '--no-progress', '--no-config-hints'] },
];

const results = await Promise.all(CHECKS.map(run));
for (const { name, code, seconds, output } of results) {
  if (code !== 0) process.stdout.write(`${output.trimEnd()}\n`);
  console.log(`${name}: ${code === 0 ? 'ok' : 'FAILED'} ${seconds} s`);
}
process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1;

/** Runs one tool with this Node and collects its output. */
function run({ name, args }) {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const gather = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', gather);
    child.stderr.setEncoding('utf8').on('data', gather);
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ name, code, output, seconds: ((performance.now() - from) / 1000).toFixed(1) });
    });
  });
}
