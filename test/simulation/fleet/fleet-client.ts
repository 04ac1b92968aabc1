/**
 * A client of several servers: it calls each in turn over the wire and records the answers. One holds leases and
 * renews some of them; another keeps asking every server who holds what; others run a workload.
 */
import type { Transport } from '../../../src/client/transport.ts';
import { OPERATIONS } from '../../../src/operations/table.ts';
import type { HttpRequest } from '../../../src/seams/http.ts';
import type { Json } from '../plan.ts';
import type { SchedulingProgram } from '../workloads/scheduled.ts';
import { Random } from '../world/random.ts';
import { WireCalls } from '../world/wire-calls.ts';
import { SimResponse } from '../world/wire-server.ts';
import type { FleetServer } from './fleet-server.ts';
import type { FleetWorld } from './fleet-world.ts';

const WAY_MS = [0.1, 3] as const;
const ANSWER_MS_MAX = 2_000;
const NAMES = ['a', 'b', 'c', 'd'];

type Body = Record<string, Json>;
type FleetRequest = Pick<HttpRequest, 'method' | 'path' | 'body'>;

export class FleetClient {
  isDone = false;
  readonly name: string;
  readonly #world: FleetWorld;
  readonly #servers: readonly FleetServer[];
  readonly #random: Random;
  #asked = 0;

  constructor(name: string, world: FleetWorld, servers: readonly FleetServer[]) {
    this.name = name;
    this.#world = world;
    this.#servers = servers;
    this.#random = new Random(world.plan.seed, name);
  }

  /** Takes names, holds them for a while, and gives them back or lets them run out. */
  async hold(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const name = this.#random.pick(NAMES);
      const lease = { holder: this.name, token: this.#random.token() };
      const ttl_ms = this.#random.magnitude(1_000, 120_000);
      const granted = await this.#post(`/v1/leases/${name}/acquire`, { ...lease, ttl_ms });
      if (granted !== null) await this.#keep(name, lease, ttl_ms);
      await this.#pause(this.#random.magnitude(10, 5_000));
    }
    this.isDone = true;
  }

  /** Looks at a name, at every server that answers. */
  async watch(untilMs: number): Promise<void> {
    while (this.#world.kernel.nowMs < untilMs) {
      const path = `/v1/leases/${this.#random.pick(NAMES)}`;
      for (const server of this.#servers) await this.#ask(server, { method: 'GET', path, body: null });
      await this.#pause(this.#random.span(100, 500));
    }
    this.isDone = true;
  }

  /** Runs a workload; a call that no server answers is refused to it. */
  async run(workload: (program: SchedulingProgram) => Promise<void>, rounds: number): Promise<void> {
    const call = (operation: keyof typeof OPERATIONS, request: object): Promise<object> =>
      this.#call(operation, { ...request } as Body);
    await workload({
      client: this.name,
      random: this.#random,
      leasehold: { call: call as Transport['call'] },
      doing: () => undefined,
      sleep: (lowMs, highMs = lowMs) => this.#pause(this.#random.span(lowMs, highMs)),
      rounds: async (round) => {
        for (let left = rounds - 1; left >= 0; left--) await round(left);
      },
    });
    this.isDone = true;
  }

  async #call(operation: keyof typeof OPERATIONS, fields: Body): Promise<object> {
    const { method, path } = OPERATIONS[operation];
    const inPath = (_: string, field: string): string => {
      const value = String(fields[field]);
      delete fields[field];
      return encodeURIComponent(value);
    };
    const filled = path.replace(/\{(\w+)\}/g, inPath);
    const body = method === 'GET' || method === 'DELETE' ? null : JSON.stringify(fields);
    for (const server of this.#servers) {
      const answer = await this.#ask(server, { method, path: filled, body });
      if (answer !== null && answer.status < 500) return { ...answer.body, ok: answer.status < 300 };
    }
    return { ok: false };
  }

  async #keep(name: string, lease: Body, ttl_ms: number): Promise<void> {
    const renewals = this.#random.between(0, 4);
    for (let renewal = 0; renewal < renewals; renewal++) {
      await this.#pause(this.#random.span(0, ttl_ms));
      if ((await this.#post(`/v1/leases/${name}/renew`, { ...lease, ttl_ms })) === null) return;
    }
    if (this.#random.chance(0.3)) await this.#post(`/v1/leases/${name}/release`, lease);
  }

  /** The answer of whichever server gives one; null for a no, or when none does. */
  async #post(path: string, body: Body): Promise<Body | null> {
    const request = { method: 'POST' as const, path, body: JSON.stringify(body) };
    for (const server of this.#servers) {
      const answer = await this.#ask(server, request);
      if (answer !== null && answer.status < 500) return answer.status === 200 ? answer.body : null;
    }
    return null;
  }

  async #ask(server: FleetServer, request: FleetRequest): Promise<{ status: number; body: Body } | null> {
    const { kernel, recorder } = this.#world;
    const calls = new WireCalls(recorder, this.name, request);
    const requestId = `${this.name}-${++this.#asked}`;
    return new Promise((resolve) => {
      const giveUp = kernel.after(ANSWER_MS_MAX, null, () => {
        isOver = true;
        calls.unanswered('unknown', 'No answer came.');
        resolve(null);
      });
      const answer = (status: number, text: string): void => {
        kernel.after(this.#random.span(...WAY_MS), null, () => {
          if (isOver) return;
          isOver = true;
          giveUp.cancel();
          if (status < 500) calls.answered({ status, body: Buffer.from(text) });
          else calls.unanswered(isUnheard ? 'none' : 'unknown', text);
          resolve({ status, body: JSON.parse(text) as Body });
        });
      };
      let isOver = false;
      let isUnheard = false;
      kernel.after(this.#random.span(...WAY_MS), server.process, () => {
        const { leading } = server;
        isUnheard = leading === null;
        if (leading === null) return answer(503, '{"code":"NOT_LEADER"}');
        calls.arrived();
        let status = 0;
        let text = '';
        const response = new SimResponse({
          head: (given) => {
            status = given;
          },
          chunk: (more) => {
            text += more;
          },
          end: () => {
            if (status < 500) calls.served(leading.epoch);
            answer(status, text);
          },
          cut: () => undefined,
        });
        const headers = { 'content-type': 'application/json' };
        leading.server.handle({ ...request, url: request.path, headers, requestId }, response);
      });
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.kernel.after(ms, null, resolve);
    });
  }
}
