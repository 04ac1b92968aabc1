// leasehold/browser as a browser gets it: bundled, without Node, the schema library and the rules of the authority, and at
// work in a place that has nothing but what browsers have.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Bundle {
  readonly code: string;
  /** The files it was made from. */
  readonly modules: readonly string[];
}

let bundle: Bundle;

beforeAll(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'leasehold-browser-'));
  try {
    mkdirSync(join(dir, 'node_modules'));
    symlinkSync(ROOT, join(dir, 'node_modules', 'leasehold'));
    writeFileSync(join(dir, 'entry.js'), "export * from 'leasehold/browser';\n");
    bundle = await bundled(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

/** Made by the bundler that comes with the test runner. */
async function bundled(dir: string): Promise<Bundle> {
  const fromVitest = createRequire(createRequire(import.meta.url).resolve('vitest/package.json'));
  const { build } = await import(pathToFileURL(fromVitest.resolve('vite')).href);
  const { output } = await build({
    root: dir,
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      target: 'es2022',
      rollupOptions: {
        input: join(dir, 'entry.js'),
        preserveEntrySignatures: 'strict',
        output: { format: 'iife', name: 'leasehold' },
      },
    },
  });
  const [{ code, modules }] = output as [{ code: string; modules: object }];
  return { code, modules: Object.keys(modules) };
}

describe('leasehold/browser in a browser', () => {
  it('is made from our own files alone: no module of Node, no schema library, nothing of the server', () => {
    const { length } = gzipSync(bundle.code, { level: 9 });
    console.log(`leasehold/browser: ${bundle.code.length} bytes minified, ${length} gzipped`);
    expect(bundle.modules.filter((id) => id.includes('/dist/client/http-transport.js'))).toHaveLength(1);
    expect(
      bundle.modules.filter((id) => id.includes('node_modules/') && !/node_modules\/leasehold\//.test(id)),
    ).toEqual([]);
    expect(
      bundle.modules.filter(
        (id) => !/\/dist\/(browser\.js$|client|protocol|seams|world|client\.js)/.test(id),
      ),
    ).toEqual([expect.stringMatching(/\/entry\.js$/)]);
    expect(bundle.modules.filter((id) => /__vite-browser-external|^node:/.test(id))).toEqual([]);
    expect(bundle.code).not.toMatch(/\bprocess\.|\brequire\(|Buffer\./);
  });
});

describe('the bundle', () => {
  const server = createServer((request, response) => {
    const answer = JSON.stringify({ task_id: 'made', seq: 2 });
    // A browser asks first whether it may send such headers to another origin.
    response.writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' });
    request.resume().on('end', () => response.end(request.url === '/v1/tasks' ? answer : '{"workers":[]}'));
  });

  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('talks to a server with what browsers have, and nothing else', async () => {
    const browser = createContext({
      ...{
        fetch,
        URL,
        URLSearchParams,
        AbortController,
        AbortSignal,
        TextEncoder,
        TextDecoder,
        TextDecoderStream,
      },
      ...{ setTimeout, clearTimeout, queueMicrotask, performance, crypto, btoa },
      console,
    });
    runInContext(`${bundle.code}\nglobalThis.leasehold = leasehold;`, browser);
    const { port } = server.address() as AddressInfo;
    const reply = await runInContext(
      `(async () => {
        const lh = leasehold.connect('http://127.0.0.1:${port}');
        const created = await lh.call('task.create', { payload: 1 });
        const workers = await lh.workers.list();
        await lh.close();
        return JSON.stringify([created, workers]);
      })()`,
      browser,
    );
    expect(JSON.parse(reply)).toEqual([{ task_id: 'made', seq: 2, ok: true }, []]);
  });
});
