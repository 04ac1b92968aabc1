// A bench for whole stories about sessions: a real server, real orchestrators and real pipelines. Tests wait for what
// the log says, never for a while; at the end `finish` reads the whole log for more sessions than tuners and asks every
// pipeline whether it ever found its slot taken.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import {
  type Body,
  CliBench,
  isAlive,
  type Process,
  type Result,
  type RunOptions,
  until,
} from './cli-processes.ts';
import { type LogEnd, type LogEntry, readSessionLog, TERMINAL } from './session-log.ts';
import { WireProxy } from './wire-proxy.ts';

export const GUARD = 'system:orchestrator:guard_lock';

const PIPELINE = fileURLToPath(new URL('./pipeline.sh', import.meta.url));
const PATIENCE_MS = 40_000;

/** Times that nothing runs out of while a test looks. */
const CALM = { 'guard-ttl': '60s', heartbeat: '10s', 'lease-ttl': '60s', grace: '300ms' };

/** Times for tests that wait for something to run out; a loaded machine can still keep up with them. */
export const QUICK = { 'guard-ttl': '5s', heartbeat: '1s', 'lease-ttl': '4s' };

/** Losing the guard ends an orchestrator within one heartbeat and two seconds; the rest is for a loaded machine. */
export const FAIL_CLOSED_MS = 1_000 + 2_000 + 2_000;

export interface BenchOptions {
  readonly tuners?: readonly string[];
  /** After how long a session ends whose client is silent; never, if it is not given. */
  readonly idleMs?: number;
  /** Of the server. */
  readonly env?: Record<string, string>;
}

export interface OrchestrateOptions extends Pick<RunOptions, 'under'> {
  /** Where it finds the server. */
  readonly url?: string;
  readonly times?: Partial<typeof CALM>;
}

/** What a pipeline said of itself when it began. */
export interface PipelineStart {
  readonly sessionId: string;
  readonly slot: string;
  readonly leaseSeq: number;
  readonly pid: number;
}

interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export class SessionBench extends CliBench {
  readonly tuners: readonly string[];
  readonly config: string;
  private readonly pipelineDir: string;
  private readonly proxies: WireProxy[] = [];

  private constructor(tuners: readonly string[], idleMs: number | undefined) {
    super();
    this.tuners = tuners;
    this.pipelineDir = join(this.dir, 'pipelines');
    this.config = join(this.dir, 'orchestrator.json');
    mkdirSync(this.pipelineDir);
    const profile = (...words: string[]) => ({ command: ['bash', PIPELINE, this.pipelineDir, ...words] });
    const ready = { stdout: '^ready$' };
    const profiles = {
      plain: profile(),
      other: profile(),
      slow: { ...profile('slow'), ready },
      stubborn: profile('stubborn'),
      mute: { ...profile('mute'), ready },
      failing: { ...profile('failing'), ready },
      ending: profile('ending'),
      missing: { command: ['/no/such/program'] },
    };
    writeFileSync(this.config, JSON.stringify({ tuners, profiles, session_idle_ms: idleMs }));
  }

  /** With its server running. */
  static async open({ tuners = ['0', '1'], idleMs, env }: BenchOptions = {}): Promise<SessionBench> {
    const bench = new SessionBench(tuners, idleMs);
    await bench.serve(env);
    return bench;
  }

  override serve(env: Record<string, string> = {}): Promise<void> {
    return super.serve({ XG2G_IDEM_SECRET: 'a secret of this test', ...env });
  }

  async proxy(): Promise<WireProxy> {
    const proxy = await WireProxy.open(() => this.url);
    this.proxies.push(proxy);
    return proxy;
  }

  /** Starts an orchestrator and does not wait for anything. */
  launch({ url = this.url, times = {}, ...rest }: OrchestrateOptions = {}): Process {
    const flags = Object.entries({ ...CALM, ...times }).flatMap(([flag, value]) => [`--${flag}`, value]);
    return this.start(
      ['orchestrate', '--config', this.config, '--log-dir', join(this.dir, 'output'), ...flags],
      { env: { LEASEHOLD_URL: url }, ...rest },
    );
  }

  /** Starts an orchestrator and waits until it works. */
  async orchestrate(options?: OrchestrateOptions): Promise<Process> {
    const started = this.launch(options);
    await started.says(/taking intents/);
    return started;
  }

  // What clients do.

  async call(method: string, path: string, body?: object): Promise<HttpAnswer> {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(this.url + path, {
      method,
      ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
    });
    return { status: reply.status, headers: reply.headers, body: await reply.json() };
  }

  intent(serviceRef: string, profileID = 'plain'): Promise<HttpAnswer> {
    return this.call('POST', '/api/v3/intents', { type: 'live', serviceRef, profileID });
  }

  /** The id of a session that was accepted. */
  async ask(serviceRef: string, profileID?: string): Promise<string> {
    const { status, body } = await this.intent(serviceRef, profileID);
    expect(status, JSON.stringify(body)).toBe(202);
    return body.session_id;
  }

  /** A session that runs, and its pipeline. */
  async ready(serviceRef: string, profileID?: string): Promise<PipelineStart> {
    const id = await this.ask(serviceRef, profileID);
    await this.reaches(id, 'READY');
    return this.pipelineOf(id);
  }

  session(id: string): Promise<HttpAnswer> {
    return this.call('GET', `/api/v3/sessions/${id}`);
  }

  stop(id: string): Promise<HttpAnswer> {
    return this.call('DELETE', `/api/v3/sessions/${id}`);
  }

  /** Stops a session and sees it STOPPED. */
  async end({ sessionId }: PipelineStart): Promise<void> {
    expect((await this.stop(sessionId)).status).toBe(202);
    expect(await this.reaches(sessionId, 'STOPPED')).toMatchObject({ reason: 'R_CLIENT_STOP' });
  }

  breakLease(name: string): Promise<HttpAnswer> {
    return this.call('POST', `/v1/leases/${encodeURIComponent(name)}/break`, { reason: 'test' });
  }

  async leases(prefix = 'lease:'): Promise<Body[]> {
    return (await this.call('GET', `/v1/leases?prefix=${prefix}&limit=1000`)).body.leases;
  }

  /** The guard of the current orchestrator; a problem when there is none. */
  async guard(): Promise<Body> {
    return (await this.call('GET', `/v1/leases/${GUARD}`)).body;
  }

  async seq(): Promise<number> {
    return (await this.call('GET', '/v1/status')).body.seq;
  }

  async metric(line: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const found = text.split('\n').find((each) => each.startsWith(`${line} `));
    expect(found, `${line} on /metrics`).toBeDefined();
    return Number(found!.split(' ').at(-1));
  }

  // What the log says.

  /** The whole of it. */
  async log(): Promise<LogEntry[]> {
    const last = await this.seq();
    const entries: LogEntry[] = [];
    await this.entry(`entry ${last}`, (entry) => entries.push(entry) > 0 && entry.seq >= last);
    return entries;
  }

  /** The first entry that fits, from the beginning of the log; waits for it. */
  async entry(what: string, fits: (entry: LogEntry) => boolean): Promise<LogEntry> {
    const closing = new AbortController();
    const timer = setTimeout(() => closing.abort(new Error(`Waited in vain for ${what}.`)), PATIENCE_MS);
    try {
      const { signal } = closing;
      const reply = await fetch(`${this.url}/v1/log?from=1&follow=1`, { signal });
      expect(reply.status).toBe(200);
      let rest = '';
      for await (const chunk of reply.body!.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          if (line === '') continue;
          const entry: LogEntry = JSON.parse(line);
          if (fits(entry)) return entry;
        }
      }
      throw new Error(`The log ended before ${what}.`);
    } finally {
      clearTimeout(timer);
      closing.abort();
    }
  }

  /** The entry where a session first reached one of these states. Fails at once if it ended otherwise. */
  async reaches(id: string, ...states: string[]): Promise<LogEntry> {
    const what = `session ${id} in ${states}`;
    const isOver = ({ state = '' }: LogEntry): boolean => states.includes(state) || TERMINAL.includes(state);
    const found = await this.entry(
      what,
      (entry) => entry.type === 'SessionChanged' && entry.session_id === id && isOver(entry),
    );
    expect(states, `${what}: ${JSON.stringify(found)}`).toContain(found.state);
    return found;
  }

  /** The states a session went through. */
  async statesOf(id: string): Promise<string[]> {
    const entries = await this.log();
    return entries
      .filter(({ type, session_id }) => type === 'SessionChanged' && session_id === id)
      .map(({ state }) => state!);
  }

  /** Where a name ran out; waits for it. */
  expired(name: string): Promise<LogEntry> {
    return this.entry(`the end of ${name}`, (entry) => entry.type === 'NameExpired' && entry.name === name);
  }

  /** Until when a grant of a name lasted, or lasts, by the authority's own word. */
  async endOfLease(name: string, leaseSeq: number): Promise<number> {
    const entries = await this.log();
    const last = entries.findLast(
      (entry) =>
        entry.lease_seq === leaseSeq &&
        (entry.name === name || entry.names?.includes(name)) &&
        entry.expires_at !== undefined,
    );
    return Date.parse(last!.expires_at!);
  }

  // What pipelines say.

  get pipelines(): PipelineStart[] {
    const file = join(this.pipelineDir, 'started');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    return lines.map((line) => {
      const [sessionId = '', slot = '', leaseSeq, pid] = line.split(' ');
      return { sessionId, slot, leaseSeq: Number(leaseSeq), pid: Number(pid) };
    });
  }

  /** Once it runs. */
  async pipelineOf(id: string): Promise<PipelineStart> {
    const find = (): PipelineStart | undefined => this.pipelines.find(({ sessionId }) => sessionId === id);
    await until(`the pipeline of ${id}`, () => {
      this.assertNoViolation();
      return find() !== undefined;
    });
    return find()!;
  }

  get alive(): PipelineStart[] {
    return this.pipelines.filter(({ pid }) => isAlive(pid));
  }

  /** The last moment it is known to have lived. */
  lastBeat({ sessionId }: PipelineStart): number {
    const lines = readFileSync(join(this.pipelineDir, `beats-${sessionId}`), 'utf8').split('\n');
    return Number(lines.at(-2)) * 1_000;
  }

  /** Lets a pipeline of the profile `ending` leave by itself. */
  letEnd(id: string): void {
    writeFileSync(join(this.pipelineDir, `end-${id}`), '');
  }

  private assertNoViolation(): void {
    const file = join(this.pipelineDir, 'violations');
    expect(existsSync(file) ? readFileSync(file, 'utf8') : '').toBe('');
  }

  // The end.

  /** What holds after every story. */
  async judge(): Promise<LogEnd> {
    this.assertNoViolation();
    for (const rule of ['duplicate_slot_claim', 'lease_mismatch']) {
      expect(await this.metric(`xg2g_invariant_violation_total{rule="${rule}"}`)).toBe(0);
    }
    return readSessionLog(await this.log(), this.tuners);
  }

  /** For stories that end with nothing running: every slot and every lease is free, and no process is left. */
  async finish(): Promise<void> {
    const { slots, names } = await this.judge();
    expect([...slots]).toEqual([]);
    expect([...names].filter(([name]) => name !== GUARD)).toEqual([]);
    expect(await this.leases()).toEqual([]);
    expect(this.alive).toEqual([]);
    expect(await this.metric('xg2g_tuners_in_use')).toBe(0);
  }

  override async close(): Promise<void> {
    const { pipelines } = this;
    await super.close();
    for (const proxy of this.proxies) await proxy.close();
    // Keepers end what the orchestrator left behind.
    await until('the end of every pipeline', () => pipelines.every(({ pid }) => !isAlive(pid)));
  }
}

/** How an orchestrator ended, and how long that took. */
export async function timed(orchestrator: Process): Promise<Result & { readonly tookMs: number }> {
  const from = performance.now();
  const result = await orchestrator.ended;
  return { ...result, tookMs: performance.now() - from };
}
