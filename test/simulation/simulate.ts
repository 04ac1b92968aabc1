/**
 * One run of one plan: a world is made, its clients work, its faults happen; then there is quiet, everybody finishes, and
 * the log is read back. The same plan gives the same history, event for event.
 */
import { simulateFleet } from './fleet/simulate-fleet.ts';
import type { History } from './history.ts';
import type { Plan } from './plan.ts';
import { orchestrators } from './workloads/orchestrators.ts';
import { PROGRAMS } from './workloads/programs.ts';
import { AuthorityNode, noteEntry } from './world/authority-node.ts';
import { ClientNode } from './world/client-node.ts';
import { INJECTIONS } from './world/faults.ts';
import { Kernel } from './world/kernel.ts';
import { Random } from './world/random.ts';
import { Recorder } from './world/recorder.ts';
import { tryReplay } from './world/replay.ts';
import { SimNetwork } from './world/sim-network.ts';
import type { SimWorld } from './world/sim-world.ts';

/** How often the live state is compared with a replay. */
const STATE_EVERY_MS = 10_000;
const LAST_LOOK_MS = 20_000;
const LOOK_EVERY_MS = 500;

export async function simulate(plan: Plan): Promise<History> {
  if (plan.fleet !== undefined) return simulateFleet(plan, plan.fleet);
  const world = makeWorld(plan);
  // An unhandled rejection would end a user's process.
  const unhandled = (reason: unknown): void => {
    world.recorder.broken('nobody', `A rejection was left unhandled: ${reasonOf(reason)}`);
  };
  process.on('unhandledRejection', unhandled);
  try {
    return await runWorld(world);
  } finally {
    process.off('unhandledRejection', unhandled);
  }
}

function reasonOf(reason: unknown): string {
  return reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
}

async function runWorld(world: SimWorld): Promise<History> {
  const { plan, kernel, recorder, authority, clients } = world;
  authority.boot();
  const starts = new Random(plan.seed, 'starts');
  for (const client of clients.values()) kernel.after(starts.span(0, 2_000), null, () => client.boot());
  for (const fault of plan.faults) {
    kernel.at(fault.atMs, null, () => void INJECTIONS[fault.fault](world, fault));
  }
  for (let atMs = STATE_EVERY_MS; atMs < plan.durationMs; atMs += STATE_EVERY_MS) {
    kernel.at(atMs, null, () => void authority.noteState());
  }
  kernel.at(plan.durationMs, null, () => quieten(world));
  const endMs = plan.durationMs + plan.graceMs;
  // Without this nothing might be left to happen before the end.
  kernel.at(endMs, null, () => undefined);
  await kernel.run(() => kernel.nowMs >= endMs || isServed(world));
  noteStuck(world);
  await lastLook(world);
  return recorder.history();
}

function makeWorld(plan: Plan): SimWorld {
  const kernel = new Kernel();
  const recorder = new Recorder(kernel);
  const cuts = plan.cutsStreams ? new Random(plan.seed, 'cuts') : null;
  const live = plan.isLive ? new Random(plan.seed, 'live') : null;
  const network = new SimNetwork(kernel, new Random(plan.seed, 'network'), recorder, cuts, live);
  const authority = new AuthorityNode(plan, kernel, recorder, network);
  const clients = new Map<string, ClientNode>();
  for (const { name, clients: count, rounds, orchestrators: serving = 0, waiters = 0 } of plan.workloads) {
    for (let index = 0; index < count; index++) {
      const client = `c${clients.size + 1}`;
      const isServing = index < serving;
      const program = isServing ? orchestrators : PROGRAMS[name];
      const twin = isServing && serving > 2 && index === 1 ? clients.get(`c${clients.size}`)! : null;
      const node = new ClientNode(client, rounds, program, plan, kernel, recorder, network, twin);
      node.isServing = isServing;
      node.waiters = waiters;
      node.isNeeded = () => [...clients.values()].some((other) => !other.isServing && !other.isDone);
      clients.set(client, node);
    }
  }
  return { plan, kernel, recorder, network, authority, clients };
}

/** From here on nothing goes wrong any more. */
function quieten({ kernel, recorder, network, authority, clients }: SimWorld): void {
  kernel.untrip();
  network.heal();
  authority.disk.trouble.clear();
  authority.crashLoop = null;
  authority.process?.resume();
  authority.clock.heal();
  if (!authority.isBeingRestored) {
    authority.downUntilMs = 0;
    authority.boot();
  }
  for (const client of clients.values()) {
    client.isQuiet = true;
    client.machine.doom = null;
    client.clock.heal();
    client.process?.resume();
    client.boot();
  }
  recorder.note({ kind: 'quiet' });
}

function isServed({ plan, kernel, clients }: SimWorld): boolean {
  if (kernel.nowMs < plan.durationMs) return false;
  for (const { isDone } of clients.values()) if (!isDone) return false;
  return true;
}

function noteStuck({ recorder, clients }: SimWorld): void {
  for (const { name, isDone, doing, doingSinceMs } of clients.values()) {
    if (!isDone) recorder.note({ kind: 'stuck', client: name, what: doing, sinceMs: doingSinceMs });
  }
}

/** The state once more, and then the log as the disk has it. */
async function lastLook({ kernel, recorder, authority }: SimWorld): Promise<void> {
  const fromMs = kernel.nowMs;
  let isSeen = false;
  const look = async (): Promise<void> => {
    isSeen ||= await authority.noteState();
  };
  for (let afterMs = LOOK_EVERY_MS; afterMs <= LAST_LOOK_MS; afterMs += LOOK_EVERY_MS) {
    kernel.after(afterMs, null, () => void look());
  }
  await kernel.run(() => isSeen || kernel.nowMs > fromMs + LAST_LOOK_MS);
  if (!isSeen) recorder.note({ kind: 'stuck', client: 'authority', what: 'a read', sinceMs: fromMs });
  const replayed = await tryReplay(authority, Number.POSITIVE_INFINITY);
  for (const logged of replayed?.entries ?? []) noteEntry(recorder, 'log', 'disk', logged);
}
