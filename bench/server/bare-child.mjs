/** A baseline server in its own process. It prints its address when it listens. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';

export async function bareChild(path) {
  const child = spawn(process.execPath, ['--max-semi-space-size=64', path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    url: line,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** In the child: reports its address, and ends on request. */
export function listening(server) {
  process.once('SIGTERM', () => process.exit(0));
  console.log(`http://127.0.0.1:${server.address().port}`);
}
