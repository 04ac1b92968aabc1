// docs/protocol.md, run: its test vectors against a real server, and its client in Python.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { startServed, stopAllServed } from '../support/served.ts';

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
const blocks = (kind: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${kind}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!);

afterEach(stopAllServed);

/** Without what differs from run to run. */
function timeless(frame: string): string {
  return frame
    .replace(/^\[\d+,/, '[T,')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'I')
    .replaceAll(/"requestId":"[^"]+"/g, '"requestId":"R"');
}

describe('docs/protocol.md', () => {
  it('has test vectors that a server answers byte for byte', async () => {
    const served = await startServed();
    const wire = await served.live();
    const came: string[] = [];
    for (const frame of wire.frames) came.push(JSON.stringify(frame));
    wire.ws.on('message', (data) => came.push(String(data)));
    const lines = blocks('vectors')[0]!.trim().split('\n');
    expect(lines.length).toBeGreaterThan(10);
    let seen = 0;
    for (const line of lines) {
      if (line.startsWith('> ')) wire.ws.send(line.slice(2));
      else {
        seen += 1;
        await wire.until(() => came.length >= seen);
        expect(timeless(came[seen - 1]!)).toBe(timeless(line.slice(2)));
      }
    }
  });

  it('has a client in at most 60 lines of Python that works', async () => {
    const [client, example] = blocks('python') as [string, string];
    expect(
      client
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '').length,
    ).toBeLessThanOrEqual(60);
    const served = await startServed();
    const program = ['-c', `${client}\n${example}`, served.url];
    const { stdout } = await promisify(execFile)('python3', program, { timeout: 20_000 });
    expect(stdout).toBe("{'n': 1} COMMITTED\n");
  });
});
