// Several servers on one database, each a process of its own from the built package, and what a test needs to see of
// them: who leads, who stands by, and what the log itself says afterwards.
import { Process, until } from './cli-processes.ts';

/** Short enough that a hundred fail-overs take about a minute, long enough for two busy cores. */
const GUARD_TTL_MS = 450;
const HEARTBEAT_MS = 150;

/** For tests in which a leader shall be deposed by what the test does, and not by a machine that hesitates. */
export const PATIENT = ['--guard-ttl', '1500ms', '--heartbeat', '500ms'];
/** A guard that is neither lost by accident nor waited for: a take-over happens only when it is released. */
export const STEADY = ['--guard-ttl', '10m', '--heartbeat', '20s'];

/** Any JSON of the wire, as a test reads it. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies whose shape others have checked.
type Body = any;

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export class FleetServer {
  readonly process: Process;
  url = '';

  constructor(database: string, more: readonly string[], listen: string) {
    const args = ['serve', '--engine', database, '--listen', listen, '--allow-fsync-off', '--json'];
    const guard = ['--guard-ttl', `${GUARD_TTL_MS}ms`, '--heartbeat', `${HEARTBEAT_MS}ms`];
    this.process = new Process([...args, ...guard, '--log-level', 'info', ...more], {});
  }

  /** Resolves once it serves or stands by. */
  async isUp(): Promise<this> {
    const [, url] = await this.process.says(/"url":"([^"]+)".*"pid"/);
    this.url = url!;
    return this;
  }

  async ask(method: string, path: string, body?: object): Promise<Asked> {
    const reply = await fetch(this.url + path, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    const isJson = reply.headers.get('content-type')?.includes('json') ?? false;
    return { status: reply.status, headers: reply.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** The role it reports; null when it does not answer. */
  async role(): Promise<'leader' | 'standby' | null> {
    try {
      return (await this.ask('GET', '/v1/status')).body.role ?? null;
    } catch {
      return null;
    }
  }

  async becomes(role: 'leader' | 'standby'): Promise<void> {
    await until(`${this.url} to become ${role}`, async () => (await this.role()) === role);
  }
}

export class Fleet {
  readonly servers: FleetServer[] = [];
  private readonly database: string;

  constructor(database: string) {
    this.database = database;
  }

  async start(more: readonly string[] = [], listen = '127.0.0.1:0'): Promise<FleetServer> {
    const server = new FleetServer(this.database, more, listen);
    this.servers.push(server);
    return server.isUp();
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  /** Ends a server at once and starts another one in its place, with the same address. */
  async replace(server: FleetServer, signal: NodeJS.Signals, more: readonly string[] = []): Promise<void> {
    server.process.kill(signal);
    await server.process.ended;
    const next = new FleetServer(this.database, more, new URL(server.url).host);
    this.servers.splice(this.servers.indexOf(server), 1, next);
    await next.isUp();
  }

  /** The one that leads now; waits until there is one. */
  async leader(): Promise<FleetServer> {
    let found: FleetServer | undefined;
    await until('a leader', async () => {
      const roles = await Promise.all(this.servers.map((server) => server.role()));
      found = this.servers[roles.indexOf('leader')];
      return found !== undefined;
    });
    return found!;
  }

  async close(): Promise<void> {
    for (const { process } of this.servers) {
      process.kill('SIGCONT');
      process.kill('SIGKILL');
    }
    await Promise.all(this.servers.map(({ process }) => process.ended));
  }
}
