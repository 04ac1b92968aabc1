/**
 * What every kind of fault does. A fault that finds nothing to act upon (a process that is down already) does nothing and
 * is not noted; everything else is noted with what it may lead to.
 */
import type { Allowance } from '../history.ts';
import type { FaultKind, Json, PlannedFault } from '../plan.ts';
import { damage, misplacement } from './disk-damage.ts';
import type { Owner } from './kernel.ts';
import { restoreBackup } from './restore-backup.ts';
import type { SimClock } from './sim-clock.ts';
import type { Link } from './sim-network.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimWorld } from './sim-world.ts';

type Injection = (world: SimWorld, fault: PlannedFault) => void | Promise<void>;

const AUTHORITY = 'authority';

export const INJECTIONS: Readonly<Record<FaultKind, Injection>> = {
  'clock.jump': (world, fault) => {
    clockOf(world, fault)?.jump(number(fault, 'byMs'));
    note(world, fault);
  },
  'clock.drift': (world, fault) => {
    const clock = clockOf(world, fault);
    clock?.drift(number(fault, 'ppm'));
    world.kernel.after(fault.forMs, null, () => clock?.drift(0));
    note(world, fault);
  },
  'clock.suspend': (world, fault) => {
    clockOf(world, fault)?.suspend(fault.forMs);
    processOf(world, fault)?.pause(fault.forMs);
    note(world, fault);
  },

  'disk.torn': (world, fault) => {
    armKill(world, fault, { step: 'write', when: 'during', countdown: number(fault, 'nth'), cause: 'power' });
  },
  'disk.misdirect': (world, fault) => {
    const { disk } = world.authority;
    disk.trouble.isMisdirecting = true;
    disk.trouble.onMisplaced = (misplaced) => {
      const { detail, allows } = misplacement(misplaced);
      note(world, fault, detail, allows);
      world.kernel.after(number(fault, 'afterMs'), null, () => world.authority.kill('power', 300));
    };
  },
  'disk.flip': (world, fault) => damageDisk(world, fault, 'flip'),
  'disk.truncate': (world, fault) => damageDisk(world, fault, 'truncate'),
  'disk.stale': (world, fault) => damageDisk(world, fault, 'stale'),
  'disk.eio': (world, fault) => {
    const step = fault.args.step === 'read' ? 'read' : 'write';
    world.authority.disk.trouble.failing = { step, times: number(fault, 'times') };
    note(world, fault);
  },
  'disk.full': (world, fault) => {
    const { disk } = world.authority;
    disk.trouble.capacityBytes = disk.usedBytes + number(fault, 'spareBytes');
    world.kernel.after(fault.forMs, null, () => {
      disk.trouble.capacityBytes = Number.POSITIVE_INFINITY;
    });
    note(world, fault);
  },
  'disk.sync': (world, fault) => {
    world.authority.disk.trouble.failingSyncs = number(fault, 'times');
    note(world, fault);
  },
  'disk.slow': (world, fault) => {
    world.authority.disk.trouble.slowDown(number(fault, 'stepMs'), fault.forMs);
    note(world, fault);
  },
  'disk.restore': async (world, fault) => {
    const restored = await restoreBackup(world, fault.forMs);
    if (restored === null) return;
    note(world, fault, {}, [{ may: 'restore', ...restored }]);
  },

  'net.delay': (world, fault) => forAWhile(world, fault, 'delayMs', number(fault, 'byMs')),
  'net.loss': (world, fault) => forAWhile(world, fault, 'lossChance', number(fault, 'chance')),
  'net.duplicate': (world, fault) => forAWhile(world, fault, 'duplicateChance', number(fault, 'chance')),
  'net.reorder': (world, fault) => forAWhile(world, fault, 'jitterMs', number(fault, 'byMs')),
  'net.reset': (world, fault) => forAWhile(world, fault, 'resetChance', number(fault, 'chance')),
  'net.partition': (world, fault) => {
    const untilMs = world.kernel.nowMs + fault.forMs;
    for (const link of linksOf(world, fault)) {
      if (fault.args.direction !== 'from') link.cutToServerMs = untilMs;
      if (fault.args.direction !== 'to') link.cutToClientMs = untilMs;
    }
    note(world, fault);
  },
  'net.half-open': (world, fault) => {
    for (const client of clientsOf(world, fault)) world.network.breakHalf(client);
    note(world, fault);
  },
  'net.storm': (world, fault) => {
    const times = number(fault, 'times');
    for (let time = 0; time < times; time++) {
      world.kernel.after((fault.forMs / times) * time, null, () => {
        for (const client of clientsOf(world, fault)) world.network.breakAll(client);
      });
    }
    note(world, fault);
  },

  'process.kill': (world, fault) => {
    if (processOf(world, fault) === null) return;
    note(world, fault);
    endProcess(world, fault, 'kill');
  },
  'process.power': (world, fault) => {
    if (processOf(world, fault) === null) return;
    note(world, fault);
    endProcess(world, fault, 'power');
  },
  'process.kill-at': (world, fault) => {
    if (fault.args.step === 'any') armTripwire(world, fault);
    else
      armKill(world, fault, {
        step: String(fault.args.step),
        when: fault.args.when === 'after' ? 'after' : 'before',
        countdown: number(fault, 'nth'),
        cause: fault.args.cause === 'power' ? 'power' : 'kill',
      });
  },
  'process.pause': (world, fault) => {
    processOf(world, fault)?.pause(fault.forMs);
    note(world, fault);
  },
  'process.block': (world, fault) => {
    processOf(world, fault)?.block(fault.forMs);
    note(world, fault);
  },
  'process.crash-loop': (world, fault) => {
    note(world, fault);
    world.authority.crashLoop = { times: number(fault, 'times'), afterMs: number(fault, 'afterMs') };
    world.authority.kill('kill', 50, 'crash loop');
  },
  'process.rival': async (world, fault) => {
    const { authority } = world;
    if (authority.isBeingRestored) return;
    note(world, fault);
    const process = authority.newProcess('rival');
    authority.rivals += 1;
    const core = await authority.open(process);
    if (core !== null) {
      // The log was free, so it has become the authority for a moment; it gives way in order.
      authority.watch(process, core.authority);
      await core.authority.close();
    }
    process.die();
    authority.rivals -= 1;
  },
  'process.depose': (world, fault) => {
    note(world, fault);
    world.authority.depose(fault.forMs);
  },
  'process.keeper': (world, fault) => {
    const machine = world.clients.get(fault.target)?.machine;
    if (machine === undefined) return;
    note(world, fault);
    const { when } = fault.args;
    if (when === 'pause') machine.pauseKeeper(number(fault, 'chosen'), fault.forMs);
    else if (when === 'together') {
      machine.killKeepersOf(fault.target);
      endProcess(world, fault, 'kill');
    } else if (when === 'now') machine.killKeeper(number(fault, 'chosen'));
    else machine.doom = { from: when === 'start' ? 'start' : 'begin', afterMs: number(fault, 'afterMs') };
  },
};

function note(
  { recorder }: SimWorld,
  { fault, target, forMs, args }: PlannedFault,
  detail: Record<string, Json> = {},
  allows: readonly Allowance[] = [],
): void {
  recorder.note({ kind: 'fault', fault, target, detail: { forMs, ...args, ...detail }, allows });
}

async function damageDisk(
  world: SimWorld,
  fault: PlannedFault,
  kind: 'flip' | 'truncate' | 'stale',
): Promise<void> {
  if (world.authority.isBeingRestored) return;
  world.authority.kill('power', number(fault, 'downMs'), kind);
  const done = await damage(world.authority.disk, kind);
  if (done !== null) note(world, fault, done.detail, done.allows);
}

interface Ending {
  readonly step: string;
  readonly when: 'before' | 'during' | 'after';
  readonly countdown: number;
  readonly cause: 'kill' | 'power';
}

/** Only the authority itself dies so; what compacts for it is a thread of the same process. */
function armKill(world: SimWorld, fault: PlannedFault, { step, when, countdown, cause }: Ending): void {
  note(world, fault);
  const kill = (process: SimProcess): void => {
    const { authority } = world;
    if (process.name === 'operator') return;
    authority.kill(cause, number(fault, 'downMs'), `${when} ${step}`);
    process.die();
  };
  world.authority.disk.trouble.killPoint = { step, when, countdown, kill };
}

/** Between any two events of its owner, whatever they are. Work of the disk has no owner. */
function armTripwire(world: SimWorld, fault: PlannedFault): void {
  note(world, fault);
  const { authority, kernel } = world;
  const isMeant = (owner: Owner | null): boolean => owner === null || owner === authority.process;
  kernel.trip(isMeant, number(fault, 'nth'), () => {
    authority.kill(fault.args.cause === 'power' ? 'power' : 'kill', number(fault, 'downMs'), 'any');
  });
}

function endProcess(world: SimWorld, fault: PlannedFault, cause: 'kill' | 'power'): void {
  const downMs = number(fault, 'downMs');
  if (fault.target === AUTHORITY) world.authority.kill(cause, downMs);
  else world.clients.get(fault.target)?.kill(downMs, cause === 'power', cause);
}

function forAWhile(world: SimWorld, fault: PlannedFault, field: keyof Link, value: number): void {
  const links = linksOf(world, fault);
  for (const link of links) link[field] = value;
  world.kernel.after(fault.forMs, null, () => {
    for (const link of links) link[field] = 0;
  });
  note(world, fault);
}

function clientsOf({ clients }: SimWorld, { target }: PlannedFault): readonly string[] {
  return target === '*' ? [...clients.keys()] : [target];
}

function linksOf(world: SimWorld, fault: PlannedFault): Link[] {
  return clientsOf(world, fault).map((client) => world.network.link(client));
}

function clockOf({ authority, clients }: SimWorld, { target }: PlannedFault): SimClock | undefined {
  return target === AUTHORITY ? authority.clock : clients.get(target)?.clock;
}

function processOf({ authority, clients }: SimWorld, { target }: PlannedFault): SimProcess | null {
  return target === AUTHORITY ? authority.process : (clients.get(target)?.process ?? null);
}

function number({ fault, args }: PlannedFault, name: string): number {
  const value = args[name];
  if (typeof value !== 'number') throw new Error(`${fault} needs the number ${name}.`);
  return value;
}
