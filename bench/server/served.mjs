/** A real server in its own process on an empty directory. It shares the cores with its clients. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { benchDir } from '../core/bench-world.mjs';

const main = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'cli', 'main.js');

export async function served(nodeFlags = ['--max-semi-space-size=64']) {
  const flags = ['serve', '--data', join(benchDir(), 'data'), '--listen', '127.0.0.1:0', '--json'];
  const child = spawn(process.execPath, [...nodeFlags, main, ...flags, '--log-level', 'error'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { url } = JSON.parse(line);
  return {
    url,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** The value below which this share of the samples lies. */
export function percentile(samples, part) {
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
