// A real server with the console, a real Chromium that opens it, and what every page must keep to: no error in the browser's
// console, no request to anywhere else, no violation that axe-core finds. Screenshots are kept in artifacts/console.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect, inject } from 'vitest';
import { connect } from '../../src/client-node.ts';
import { type Body, CliBench, type Process } from './cli-processes.ts';

const SHOTS = join(fileURLToPath(new URL('../..', import.meta.url)), 'artifacts', 'console');

/** The two sizes at which every page is looked at. */
export const DESK = { viewport: { width: 1440, height: 900 }, colorScheme: 'light' } as const;
export const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } as const;

export class ConsoleBench extends CliBench {
  private browser: Browser | null = null;
  private readonly faults: string[] = [];
  private readonly strangers: string[] = [];
  /** The URLs of the live connections that pages opened. */
  readonly sockets: string[] = [];
  private handle: ReturnType<typeof connect> | null = null;

  async open(): Promise<void> {
    mkdirSync(SHOTS, { recursive: true });
    this.browser = await chromium.launch({
      executablePath: inject('chromium'),
      args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update'],
    });
  }

  /** A client of the server, for what happens outside of the browser. */
  get lh(): ReturnType<typeof connect> {
    this.handle ??= connect(this.url);
    return this.handle;
  }

  /** A server beside the first one, with its own data. */
  async another(
    args: readonly string[],
    env: Record<string, string> = {},
    command: 'serve' | 'up' = 'serve',
  ): Promise<{ url: string; server: Process }> {
    const data = join(this.dir, `data-${Math.random().toString(36).slice(2)}`);
    const server = this.start(
      [command, '--data', data, '--listen', '127.0.0.1:0', '--json', '--log-level', 'error', ...args],
      {
        env,
      },
    );
    const [, url] = await server.says(/"url":"([^"]+)"/);
    return { url: url!, server };
  }

  /** A tab of its own; `place` is the fragment, such as `leases`. */
  async tab(place: string, options: BrowserContextOptions = DESK, url = this.url): Promise<Page> {
    const context = await this.browser!.newContext({
      ...options,
      reducedMotion: 'reduce',
      timezoneId: 'Europe/Berlin',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (fault) => this.faults.push(fault.stack ?? fault.message));
    page.on('console', (message) => {
      // A refused or failed request is the business of the page, which says so on the screen.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
        this.faults.push(message.text());
    });
    page.on('websocket', (socket) => this.sockets.push(socket.url()));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${new URL(url).origin}/`)) this.strangers.push(request.url());
    });
    await page.goto(`${url}/#/${place}`);
    return page;
  }

  async call(path: string, body: object, method = 'POST'): Promise<Body> {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(this.url + path, { method, headers, body: JSON.stringify(body) })).json();
  }

  /** Everything that must hold on every page, and a picture of it. */
  async expectSound(page: Page, name: string): Promise<void> {
    await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(
      // biome-ignore lint/suspicious/noExplicitAny: axe-core puts itself into the page.
      () => (globalThis as any).axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }),
    );
    const told = violations.map(
      ({ id, nodes }: Body) =>
        `${id}: ${nodes
          .map((node: Body) => node.html)
          .join(' ')
          .slice(0, 400)}`,
    );
    expect([name, told]).toEqual([name, []]);
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect([name, 'wider than the screen by', Math.max(0, width)]).toEqual([
      name,
      'wider than the screen by',
      0,
    ]);
    expect([this.faults, this.strangers]).toEqual([[], []]);
  }

  override async close(): Promise<void> {
    await this.browser?.close();
    await this.handle?.close();
    await super.close();
  }
}
