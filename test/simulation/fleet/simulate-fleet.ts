/**
 * One run of several servers on one database: leaders are killed, paused and cut off, and the clock of the database is set
 * forward and back. Then there is quiet, one of them leads, and the log is read back.
 */
import { postgresEngine } from '../../../src/engines/postgres/postgres-engine.ts';
import type { History } from '../history.ts';
import type { Fleet, Plan, PlannedFault } from '../plan.ts';
import { scheduled } from '../workloads/scheduled.ts';
import { noteEntry } from '../world/authority-node.ts';
import { Kernel } from '../world/kernel.ts';
import { Random } from '../world/random.ts';
import { Recorder } from '../world/recorder.ts';
import { SimClock } from '../world/sim-clock.ts';
import { SimProcess } from '../world/sim-process.ts';
import { FleetClient } from './fleet-client.ts';
import { FleetServer } from './fleet-server.ts';
import type { FleetWorld } from './fleet-world.ts';
import { SimDatabase } from './sim-database.ts';

const DATABASE = 'database';

export async function simulateFleet(plan: Plan, fleet: Fleet): Promise<History> {
  const kernel = new Kernel();
  const recorder = new Recorder(kernel);
  const clock = new SimClock(kernel, 0, 0);
  const database = new SimDatabase(kernel, new Random(plan.seed, DATABASE), clock);
  const { guardTtlMs } = fleet;
  const world: FleetWorld = { plan, kernel, recorder, database, guardTtlMs, shown: new Set() };
  const servers = Array.from(
    { length: fleet.servers },
    (_, index) => new FleetServer(`s${index + 1}`, world),
  );
  const clients: FleetClient[] = [];
  const newClient = (): FleetClient => {
    const client = new FleetClient(`c${clients.length + 1}`, world, servers);
    clients.push(client);
    return client;
  };
  const watcher = newClient();
  const holders = Array.from({ length: fleet.holders }, newClient);
  for (const [index, server] of servers.entries()) kernel.after(index * 200, null, () => server.boot());
  for (const holder of holders) void holder.hold(fleet.rounds);
  void watcher.watch(plan.durationMs);
  for (const { clients: count, rounds } of plan.workloads) {
    for (let index = 0; index < count; index++) void newClient().run(scheduled, rounds);
  }
  for (const fault of plan.faults) {
    kernel.at(fault.atMs, null, () => inject(fault, world, servers, clock));
  }
  kernel.at(plan.durationMs, null, () => {
    database.heal();
    clock.heal();
    for (const server of servers) server.heal();
    recorder.note({ kind: 'quiet' });
  });
  const endMs = plan.durationMs + plan.graceMs;
  kernel.at(endMs, null, () => undefined);
  const isOver = (): boolean => {
    if (kernel.nowMs >= endMs) return true;
    return kernel.nowMs > plan.durationMs && clients.every(({ isDone }) => isDone) && servers.some(leads);
  };
  await kernel.run(isOver);
  const atMs = kernel.nowMs;
  for (const { name, isDone } of clients) {
    if (!isDone) recorder.note({ kind: 'stuck', client: name, what: 'its rounds', sinceMs: atMs });
  }
  if (!servers.some(leads))
    recorder.note({ kind: 'stuck', client: 'servers', what: 'a leader', sinceMs: atMs });
  await readBack(world, clock);
  return recorder.history();
}

const leads = ({ leading }: FleetServer): boolean => leading !== null;

/** The log as it is in the database. */
async function readBack({ kernel, recorder, database, plan }: FleetWorld, clock: SimClock): Promise<void> {
  const process = new SimProcess(kernel, 'reader', clock, new Random(plan.seed, 'reader'));
  const connections = database.connectionsFor(process, 'reader');
  const engine = postgresEngine({ connections, world: process, holder: 'reader' });
  let isRead = false;
  const entry = (each: Parameters<typeof noteEntry>[3]['entry'], seq: number, atMs: number): void =>
    noteEntry(recorder, 'log', DATABASE, { seq, atMs, entry: each });
  const reading = engine.follow({ image: () => undefined, entry }).finally(() => {
    isRead = true;
  });
  await kernel.run(() => isRead);
  await reading;
}

function inject(
  { fault, target, forMs, args }: PlannedFault,
  { recorder, database }: FleetWorld,
  servers: readonly FleetServer[],
  clock: SimClock,
): void {
  const chosen = target === 'leader' ? servers.find(leads) : servers.find(({ name }) => name === target);
  if (target !== DATABASE && (chosen === undefined || chosen.process === null)) return;
  recorder.note({
    kind: 'fault',
    fault,
    target: chosen?.name ?? target,
    detail: { ...args, forMs },
    allows: [],
  });
  const its = chosen?.clock ?? clock;
  switch (fault) {
    case 'clock.jump':
      return its.jump(Number(args.byMs));
    case 'clock.drift':
      return its.drift(Number(args.ppm));
    case 'clock.suspend':
      return chosen?.suspend(forMs);
    case 'process.kill':
      return chosen?.kill(forMs);
    case 'process.depose':
      return void chosen?.stop(forMs);
    case 'process.pause':
      return chosen?.process?.pause(forMs);
    case 'net.partition':
      return database.cut(chosen!.name, forMs);
    default:
      throw new Error(`${fault} is no fault of a world of several servers.`);
  }
}
