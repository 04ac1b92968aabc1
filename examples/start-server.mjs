// A server of leasehold as a process of its own, on a free port, for examples that need several processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';

const manifest = createRequire(import.meta.url).resolve('leasehold/package.json');
const program = join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.leasehold);

/** `command` is `serve` or `up`. Its log is in the directory; `stop` gives its exit code. */
export async function startServer(dir, command = 'serve', ...flags) {
  mkdirSync(dir, { recursive: true });
  const log = join(dir, `${command}.log`);
  const args = [command, '--json', '--data', join(dir, 'data'), '--listen', '127.0.0.1:0', ...flags];
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', openSync(log, 'a')],
  });
  const end = once(child, 'exit');
  // Whatever goes wrong here, the server does not go on without us.
  process.on('exit', () => child.kill('SIGTERM'));
  const line = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), end]);
  if (typeof line[0] !== 'string') {
    console.error(`leasehold ${command} has ended with ${line[0] ?? line[1]}:\n${readFileSync(log, 'utf8')}`);
    process.exit(1);
  }
  return {
    url: JSON.parse(line[0]).url,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await end;
      return code;
    },
  };
}
