// docs/protocol.md, run: its test vectors against a real server, and its client in Python.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
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

  it('has a client that answers pings between calls, and raises when the server is gone in the middle of a frame', async () => {
    const [client] = blocks('python') as [string];
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const text = `
live = Live(sys.argv[1])
sys.stdin.readline()
for attempt in range(2):
    try:
        live.call("status.get")
    except OSError as fault:
        print(type(fault).__name__, fault if attempt == 0 else "")
`;
    const { port } = server.address() as AddressInfo;
    const program = execFile('python3', ['-c', `${client}\n${text}`, `http://127.0.0.1:${port}`]);
    let output = '';
    for (const stream of [program.stdout!, program.stderr!]) stream.on('data', (chunk) => (output += chunk));
    const [, socket] = (await once(server, 'upgrade')) as [IncomingMessage, Duplex];
    const send = (first: number, data: string) =>
      socket.write(Buffer.concat([Buffer.from([first, data.length]), Buffer.from(data)]));
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    send(0x81, '[1767600000000,1]');
    send(0x89, 'ping');
    const [pong] = (await once(socket, 'data')) as [Buffer];
    expect([pong[0], pong[1]]).toEqual([0x8a, 0x84]);
    program.stdin!.write('go on\n');
    await once(socket, 'data');
    socket.end(Buffer.from([0x81, 100, 91]));
    await once(program, 'close');
    server.close();
    expect(output).toMatch(/^ConnectionError the server is gone\n\w+ \n$/);
  });
});
