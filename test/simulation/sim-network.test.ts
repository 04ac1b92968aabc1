// The simulated network: what happens to a request and its answer, and which ends are notified.
import { describe, expect, it } from 'vitest';
import { type HttpReply, isHttpFault } from '../../src/seams/http.ts';
import { Kernel } from './world/kernel.ts';
import { Random } from './world/random.ts';
import { Recorder } from './world/recorder.ts';
import { SimClock } from './world/sim-clock.ts';
import { SimNetwork } from './world/sim-network.ts';
import { SimProcess } from './world/sim-process.ts';
import type { SimResponse, WireRequest, WireServer } from './world/wire-server.ts';

/** A server that records requests and answers at once, unless asked to wait. */
function start() {
  const kernel = new Kernel();
  const recorder = new Recorder(kernel);
  const network = new SimNetwork(kernel, new Random(1, 'network'), recorder);
  const spawn = (name: string) =>
    new SimProcess(kernel, name, new SimClock(kernel, 0, 0), new Random(1, name));
  const arrived: { url: string; atMs: number; response: SimResponse; isClosed: boolean }[] = [];
  const house = { answers: true };
  const server = {
    handle({ url }: WireRequest, response: SimResponse) {
      const one = { url, atMs: kernel.nowMs, response, isClosed: false };
      response.once('close', () => {
        one.isClosed = true;
      });
      arrived.push(one);
      if (!house.answers) return;
      response.writeHead(200, {});
      response.end('{}');
    },
  } as unknown as WireServer;
  const authority = spawn('authority');
  network.listen({ process: authority, server });
  const client = spawn('c1');
  const http = network.httpFor(client);
  const send = (name: string, signal = new AbortController().signal) => {
    const call = http.send({
      lane: 'calls',
      method: 'GET',
      origin: 'http://authority',
      path: `/v1/leases/${name}`,
      headers: {},
      body: null,
      signal,
    });
    const seen: { reply: HttpReply | null; fault: unknown; atMs: number } = {
      reply: null,
      fault: null,
      atMs: 0,
    };
    call.then(
      (reply) => Object.assign(seen, { reply, atMs: kernel.nowMs }),
      (fault: unknown) => Object.assign(seen, { fault, atMs: kernel.nowMs }),
    );
    return seen;
  };
  const pass = async (ms: number): Promise<void> => {
    const untilMs = kernel.nowMs + ms;
    kernel.at(untilMs, null, () => undefined);
    await kernel.run(() => kernel.nowMs >= untilMs);
  };
  return { network, recorder, arrived, house, authority, client, send, pass, link: network.link('c1') };
}

describe('the simulated network', () => {
  it('carries a request there and its answer back, and notes both', async () => {
    const { send, pass, arrived, recorder } = start();
    const call = send('a');
    await pass(10);
    expect(arrived).toHaveLength(1);
    expect(call.reply?.status).toBe(200);
    expect(recorder.events.map(({ kind }) => kind)).toEqual(['call', 'arrive', 'answer']);
  });

  it('says that nothing happened when no process listens', async () => {
    const { send, pass, network } = start();
    network.unlisten();
    const call = send('a');
    await pass(10);
    expect(isHttpFault(call.fault) && call.fault.effect).toBe('none');
  });

  it('delays by as much as it was told', async () => {
    const { send, pass, link } = start();
    link.delayMs = 500;
    const call = send('a');
    await pass(999);
    expect(call.reply).toBeNull();
    await pass(10);
    expect(call.reply).not.toBeNull();
  });

  it('lets requests overtake each other', async () => {
    const { send, pass, link, arrived } = start();
    link.jitterMs = 1_000;
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    for (const name of names) send(name);
    await pass(3_000);
    const order = arrived.map(({ url }) => url.slice('/v1/leases/'.length));
    expect([...order].sort()).toEqual([...names].sort());
    expect(order).not.toEqual(names);
  });

  it('loses requests and answers: some come late, the others end in a fault', async () => {
    const { send, pass, link } = start();
    link.lossChance = 0.9;
    const calls = Array.from({ length: 30 }, (_, index) => send(`n${index}`));
    await pass(20_000);
    const faults = calls.filter(({ fault }) => isHttpFault(fault) && fault.effect === 'unknown');
    const late = calls.filter(({ reply, atMs }) => reply !== null && atMs > 200);
    expect(faults.length).toBeGreaterThan(0);
    expect(late.length).toBeGreaterThan(0);
    expect(faults.length + calls.filter(({ reply }) => reply !== null).length).toBe(30);
  });

  it('delivers a request twice, and notes the second as a duplicate', async () => {
    const { send, pass, link, arrived, recorder } = start();
    link.duplicateChance = 1;
    send('a');
    await pass(20);
    expect(arrived).toHaveLength(2);
    expect(recorder.events.filter((event) => event.kind === 'call' && event.isEcho)).toHaveLength(1);
    expect(recorder.events.filter(({ kind }) => kind === 'answer')).toHaveLength(1);
  });

  it('breaks a connection after the request was carried out', async () => {
    const { send, pass, link, arrived } = start();
    link.resetChance = 1;
    const call = send('a');
    await pass(20);
    expect(arrived).toHaveLength(1);
    expect(isHttpFault(call.fault) && call.fault.effect).toBe('unknown');
  });

  it.each([
    ['both', 0],
    ['to', 0],
    ['from', 1],
  ] as const)('is cut %s: nothing gets through, and neither side is told', async (direction, arrivals) => {
    const { send, pass, link, arrived } = start();
    if (direction !== 'from') link.cutToServerMs = 1_000;
    if (direction !== 'to') link.cutToClientMs = 1_000;
    const call = send('a');
    await pass(5_000);
    expect(arrived).toHaveLength(arrivals);
    expect([call.reply, call.fault]).toEqual([null, null]);
    const later = send('b');
    await pass(10);
    expect(later.reply).not.toBeNull();
  });

  it('breaks on one side: the client hears of it and the server does not', async () => {
    const { send, pass, network, house, arrived } = start();
    house.answers = false;
    const call = send('a');
    await pass(10);
    network.breakHalf('c1');
    await pass(10);
    expect(isHttpFault(call.fault)).toBe(true);
    expect(arrived[0]!.isClosed).toBe(false);
  });

  it('breaks on both sides in a storm', async () => {
    const { send, pass, network, house, arrived } = start();
    house.answers = false;
    const calls = [send('a'), send('b')];
    await pass(10);
    network.breakAll('c1');
    await pass(10);
    expect(calls.every(({ fault }) => isHttpFault(fault))).toBe(true);
    expect(arrived.every(({ isClosed }) => isClosed)).toBe(true);
  });

  it('tells the server when a client gives up or dies, and the clients when the server does', async () => {
    const { send, pass, network, house, arrived, client, authority } = start();
    house.answers = false;
    const giveUp = new AbortController();
    send('a', giveUp.signal);
    const left = send('b');
    await pass(10);
    giveUp.abort(new Error('enough'));
    await pass(10);
    expect(arrived.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    authority.die();
    network.resetFrom('It died.');
    await pass(10);
    expect(isHttpFault(left.fault)).toBe(true);
    client.die();
    network.clientDied(client);
    await pass(10);
  });
});
